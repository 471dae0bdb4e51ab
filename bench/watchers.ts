import https from 'node:https';

/** The settings of the watching process, as JSON in its only argument. */
export interface Watching {
  readonly url: string;
  readonly path: string;
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
  readonly watchers: number;
  /** The number of events that each watcher waits for. */
  readonly events: number;
  readonly timeoutMs: number;
}

export interface Watched {
  readonly complete: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly mostMs: number;
}

/** Objects contain the time of the write as data.at, in ms since the epoch; both processes use the machine's clock. */
const written = /"at":"(\d+)"/g;

const run = async ({url, path, watchers, events, timeoutMs, ...tls}: Watching): Promise<void> => {
  const agent = new https.Agent({...tls, maxSockets: Infinity, keepAlive: true});
  const delays: number[] = [];
  let complete = 0;
  let open = 0;
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, timeoutMs);
    for (let index = 0; index < watchers; index++) {
      const request = https.get(`${url}${path}`, {agent}, response => {
        if (response.statusCode !== 200) reject(new Error(`answered ${response.statusCode}`));
        if (++open === watchers) console.log('open');
        let seen = 0;
        response.setEncoding('latin1');
        response.on('data', (chunk: string) => {
          const now = Date.now();
          for (const [, at] of chunk.matchAll(written)) {
            delays.push(now - Number(at));
            if (++seen === events && ++complete === watchers) {
              clearTimeout(timer);
              resolve();
            }
          }
        });
      });
      request.on('error', reject);
    }
  });
  delays.sort((a, b) => a - b);
  const at = (part: number) => delays[Math.min(delays.length - 1, Math.floor(delays.length * part))] ?? Infinity;
  const result: Watched = {complete, p50Ms: at(0.5), p99Ms: at(0.99), mostMs: at(1)};
  console.log(JSON.stringify(result));
  process.exit(0);
};

const [, , argument] = process.argv;
if (argument) await run(JSON.parse(argument) as Watching);
