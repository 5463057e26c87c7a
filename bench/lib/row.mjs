// One line of a table: ours, the peers', and whether what must be reached was. Of every figure less is better, whatever
// its unit.

/** At most this part of the peer's figure: `atMost('NumPy', 0.7)`. The peer `best` is the best of all of them. */
export const atMost = (peer, ratio) => ({ peer, ratio });

/** At least so many times faster than the peer: `timesFaster('best', 2)`. */
export const timesFaster = (peer, times) => ({ peer, ratio: 1 / times });

const bestPeer = (peers) => Object.keys(peers).reduce((a, b) => (peers[b].best < peers[a].best ? b : a));

/** Whether `ours` is within each of `musts`; null where there is none, or a peer of it was not there. */
export function isMet(ours, peers, musts) {
  const known = musts.filter(({ peer }) => peers[peer] !== undefined);
  if (known.some(({ peer, ratio }) => ours.best > peers[peer].best * ratio)) return false;
  return musts.length > 0 && known.length === musts.length ? true : null;
}

/**
 * A row out of what `race` answered. `ours` is the name of our contestant; the others are its peers. `must` is one of
 * `atMost` and `timesFaster`, or several; `aim` is what one would like to reach, a number as `atMost` takes it or a text.
 */
export function row(results, { what, unit = 'ns', ours: name = 'ours', must, aim, remark }) {
  const { [name]: ours, ...peers } = results;
  const named = (entry) => (entry.peer === 'best' ? { ...entry, peer: bestPeer(peers) } : entry);
  const musts = [must ?? []].flat().map(named);
  return {
    what,
    unit,
    ours,
    peers,
    must: must && (musts.length === 1 ? musts[0] : musts),
    aim,
    met: isMet(ours, peers, musts),
    remark,
  };
}
