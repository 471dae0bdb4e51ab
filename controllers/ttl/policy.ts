/** The cache TTL by the number of nodes. Bands overlap, to avoid changes when the number fluctuates. */
const bands: readonly {readonly from: number; readonly to: number; readonly seconds: number}[] = [
  {from: 0, to: 100, seconds: 0},
  {from: 90, to: 500, seconds: 15},
  {from: 450, to: 1000, seconds: 30},
  {from: 900, to: 2000, seconds: 60},
  {from: 1800, to: Number.POSITIVE_INFINITY, seconds: 300},
];

/** Follows the number of nodes and returns the TTL in seconds. */
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
