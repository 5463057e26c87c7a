// Preloaded into a process that looks for leaks when it ends: the processes that it starts do not. Tests start them to see them end in the middle of
// their work, with memory alive on purpose; and what a child of another kind leaks is not ours.
process.env.ASAN_OPTIONS = process.env.ASAN_OPTIONS?.replace('detect_leaks=1', 'detect_leaks=0');
