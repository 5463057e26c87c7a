//! dlpark's side of the hand-off bench: builds and drops a versioned struct over memory that an Arc counts, which is
//! what our core does too. Reads `<case> <iterations>` lines, answers with nanoseconds (bench/handoff.mjs).

use std::hint::black_box;
use std::io::{stdin, stdout, BufRead, Write};
use std::sync::Arc;
use std::time::Instant;

use dlpark::ffi::{DLDataType, DLDevice};
use dlpark::metadata::{Dynamic, Fixed};
use dlpark::DlpackFlags;

/// The kind of builder is known when it is compiled: a macro, since the two have no trait in common.
macro_rules! build_and_drop {
    ($builder:expr, $memory:expr) => {{
        let mut tensor = $builder.initialize(Arc::clone($memory)).unwrap();
        tensor
            .set_data($memory.as_ptr().cast_mut().cast())
            .set_dtype(DLDataType::F32)
            .set_device(DLDevice::CPU);
        unsafe {
            tensor.set_flags_unchecked(DlpackFlags::READ_ONLY);
            drop(black_box(tensor.finish()));
        }
    }};
}

fn run(case: &str, iterations: u64, memory: &Arc<Vec<f32>>) -> u128 {
    let small = (black_box([2i64, 3]), black_box([3i64, 1]));
    let large = (black_box([2i64, 3, 4, 5]), black_box([60i64, 20, 5, 1]));
    let begin = Instant::now();
    match case {
        "fixed-2x3" => (0..iterations).for_each(|_| build_and_drop!(Fixed::new(small.0, small.1), memory)),
        "fixed-2x3x4x5" => (0..iterations).for_each(|_| build_and_drop!(Fixed::new(large.0, large.1), memory)),
        "dynamic-2x3" => {
            (0..iterations).for_each(|_| build_and_drop!(Dynamic::new(&small.0[..], &small.1[..]), memory));
        }
        "dynamic-2x3x4x5" => {
            (0..iterations).for_each(|_| build_and_drop!(Dynamic::new(&large.0[..], &large.1[..]), memory));
        }
        _ => panic!("no case {case}"),
    }
    begin.elapsed().as_nanos()
}

fn main() {
    let memory = Arc::new(vec![0f32; 120]);
    println!("{{}}");
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let (case, iterations) = line.split_once(' ').unwrap();
        println!("{}", run(case, iterations.parse().unwrap(), &memory));
        stdout().flush().unwrap();
    }
}
