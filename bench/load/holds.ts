import {Session, type Profiler} from 'node:inspector/promises';
import {LoopWatch} from '#test/sweep/holds.js';

/** The longest block of the event loop, and what ran meanwhile. */
export interface Hold {
  readonly ms: number;
  /** The function that the event loop called, and the function in it that took most of the time. */
  readonly look: string;
}

const sampleUs = 2_000;
const ours = /\/dist\/(?:controllers|informers|src)\//;
const looking = /\/dist\/(?:controllers|src\/(?:scheduler|simulation|controlplane))\//;

/** Measures how long the event loop is blocked, and by what. */
export class Holds {
  readonly #session = new Session();
  readonly #watch = new LoopWatch();

  async start(): Promise<void> {
    this.#session.connect();
    await this.#session.post('Profiler.enable');
    await this.#session.post('Profiler.setSamplingInterval', {interval: sampleUs});
    await this.#session.post('Profiler.start');
    // A busy loop would take a CPU from the measured processes.
    this.#watch.start(look => setTimeout(look, 1));
  }

  async stop(): Promise<Hold> {
    const {ms, from, to} = this.#watch.stop();
    const {profile} = await this.#session.post('Profiler.stop');
    this.#session.disconnect();
    return {ms, look: blockIn(profile, from, to)};
  }
}

const nameOf = ({functionName, url, lineNumber}: Profiler.ProfileNode['callFrame']): string => {
  const file = url.replace(/^.*\/dist\//, '').replace(/\.js$/, '');
  return `${functionName || 'anonymous'} (${file}:${lineNumber + 1})`;
};

/** Returns the most frequent text. */
const mostFrequent = (texts: readonly string[]): string => {
  const counts = new Map<string, number>();
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1);
  return [...counts].reduce((best, each) => (each[1] > best[1] ? each : best), ['', 0] as const)[0];
};

/** Returns what ran most of the time between two times in µs of the monotonic clock. */
const blockIn = ({nodes, samples = [], timeDeltas = [], startTime}: Profiler.Profile, from: number, to: number): string => {
  const byId = new Map(nodes.map(node => [node.id, node]));
  const parents = new Map(nodes.flatMap(({id, children = []}) => children.map(child => [child, id] as const)));
  const stacks: (readonly [called: string, inner: string])[] = [];
  let at = startTime;
  for (const [index, sample] of samples.entries()) {
    at += timeDeltas[index] ?? 0;
    if (at < from || at > to) continue;
    const stack: Profiler.ProfileNode['callFrame'][] = [];
    for (let node = byId.get(sample); node; node = byId.get(parents.get(node.id) ?? -1))
      if (ours.test(node.callFrame.url)) stack.push(node.callFrame);
    const leaf = byId.get(sample)!.callFrame;
    // Queues and informers call all others, so their callees are shown.
    const called = stack.findLast(({url}) => looking.test(url)) ?? stack.at(-1) ?? leaf;
    stacks.push([nameOf(called), nameOf(stack[0] ?? leaf)]);
  }
  const called = mostFrequent(stacks.map(([each]) => each));
  const inner = mostFrequent(stacks.filter(([each]) => each === called).map(([, each]) => each));
  return called === inner ? called : `${called} in ${inner}`;
};
