import {systemClock} from '#src/base/clock.js';
import {connect} from '#src/transport/client/http-connection.js';

/** The settings of the watching process, as JSON in its only argument. */
export interface WatchLoad {
  readonly url: string;
  readonly ca: string;
  readonly path: string;
  readonly watchers: number;
  /** The number of connections shared by the watchers. */
  readonly connections: number;
  readonly events: number;
}

const mark = '"sentAt":';

const now = (): number => performance.timeOrigin + performance.now();

/** Watches until every watcher has received all events, and prints their delays. */
const run = async ({url, ca, path, watchers, connections, events}: WatchLoad): Promise<void> => {
  const settings = {server: url, trust: {ca: {data: ca}}, identity: {}, source: 'bench'};
  const all = await Promise.all(Array.from({length: connections}, () => connect(settings, {clock: systemClock})));
  const delays: number[] = [];
  let done = () => {};
  const finished = new Promise<void>(resolve => {
    done = resolve;
  });
  let count = 0;
  // Only the oldest event of a chunk is parsed; parsing all would measure the client.
  const data = (chunk: Buffer) => {
    const at = chunk.indexOf(mark);
    if (at !== -1 && at + 30 < chunk.length) delays.push(now() - Number.parseFloat(chunk.toString('latin1', at + mark.length, at + 30)));
    for (let end = chunk.indexOf(10); end !== -1; end = chunk.indexOf(10, end + 1)) count++;
    if (count === watchers * events) done();
  };
  const open = (index: number) => all[index % connections]!.stream({method: 'GET', path, headers: {}}, {data, end: () => {}});
  await Promise.all(Array.from({length: watchers}, (_, index) => open(index)));
  console.log('open');
  await finished;
  delays.sort((one, other) => one - other);
  console.log(JSON.stringify({count, p50: delays[delays.length >> 1], p99: delays[Math.floor(delays.length * 0.99)]}));
  process.exit(0);
};

const [, , argument] = process.argv;
if (argument) await run(JSON.parse(argument) as WatchLoad);
