/** How long nodes may keep what they read of secrets and config maps, by how many nodes there are. Bands overlap, so that a count that sways changes nothing. */
const bands: readonly {readonly from: number; readonly to: number; readonly seconds: number}[] = [
  {from: 0, to: 100, seconds: 0},
  {from: 90, to: 500, seconds: 15},
  {from: 450, to: 1000, seconds: 30},
  {from: 900, to: 2000, seconds: 60},
  {from: 1800, to: Number.POSITIVE_INFINITY, seconds: 300},
];

/** Follows the number of nodes, one more or one less at a time, and says how many seconds go with it. */
export const bandedSeconds = () => {
  let at = 0;
  return {
    update(nodes: number): void {
      while (nodes > bands[at]!.to) at++;
      while (nodes < bands[at]!.from) at--;
    },
    get seconds(): number {
      return bands[at]!.seconds;
    },
  };
};
