import http2 from 'node:http2';
import {setTimeout as wait} from 'node:timers/promises';
import {Pool} from 'undici';
import {percentile} from './each.js';

/** The settings of a load client, as JSON in its only argument. */
export interface Load {
  readonly url: string;
  readonly ca: string;
  readonly version: 'HTTP/1.1' | 'HTTP/2';
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly clients: number;
  readonly warmupMs: number;
  readonly measureMs: number;
  /** GET by default. */
  readonly method?: string;
  /** Sent with each request; every NAME in it is replaced by a new name. */
  readonly body?: string;
  /** A client certificate and its key in PEM. */
  readonly cert?: string;
  readonly key?: string;
  /** Whether a 429 counts as an answer; the client repeats the request after a pause of 100 ms. */
  readonly acceptsRejections?: boolean;
}

/** What a load client prints, as JSON. */
export interface Loaded {
  readonly perSecond: number;
  readonly total: number;
  readonly rejected: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** Returns a new name, unique across processes. */
const names = (): (() => string) => {
  let count = 0;
  return () => `bench-${process.pid}-${count++}`;
};

/** Sends requests as fast as responses arrive, and prints the number of responses per second and how long they took. */
const run = async (load: Load): Promise<void> => {
  const ask = load.version === 'HTTP/1.1' ? http1(load) : http2Of(load);
  const start = performance.now() + load.warmupMs;
  const end = start + load.measureMs;
  let count = 0;
  let total = 0;
  let rejected = 0;
  const latencies: number[] = [];
  await Promise.all(
    Array.from({length: load.clients}, async (_, client) => {
      for (let now = performance.now(); now < end; now = performance.now()) {
        const isAnswered = await ask(client);
        total++;
        if (isAnswered === false) {
          rejected++;
          await wait(100);
        } else if (now >= start) {
          count++;
          latencies.push(performance.now() - now);
        }
      }
    }),
  );
  latencies.sort((one, other) => one - other);
  const result: Loaded = {
    perSecond: (count / load.measureMs) * 1000,
    total,
    rejected,
    p50Ms: percentile(latencies, 0.5),
    p99Ms: percentile(latencies, 0.99),
  };
  console.log(JSON.stringify(result));
  process.exit(0);
};

/** A function that sends a request. It resolves to false for one that was rejected. */
type SendRequest = (client: number) => Promise<boolean | void>;

const http1 = ({url, ca, cert, key, path, headers, clients, method = 'GET', body, acceptsRejections = false}: Load): SendRequest => {
  const pool = new Pool(url, {connections: clients, pipelining: 1, connect: {ca, ...(cert && key ? {cert, key} : {})}});
  const name = names();
  return () =>
    new Promise((resolve, reject) => {
      pool.dispatch(
        {path, method: method as 'GET', headers, ...(body ? {body: body.replaceAll('NAME', name())} : {})},
        {
          onRequestStart() {},
          onResponseStart(_, status) {
            if (status === 429 && acceptsRejections) resolve(false);
            else if (status >= 300) reject(new Error(`answered ${status}`));
          },
          onResponseData() {},
          onResponseEnd: () => resolve(true),
          onResponseError: (_, error) => reject(error),
        },
      );
    });
};

/** A few sessions: a real client has one each. */
const http2Of = ({url, ca, path, headers}: Load): SendRequest => {
  const sessions = Array.from({length: 8}, () => http2.connect(url, {ca}));
  return client =>
    new Promise((resolve, reject) => {
      const stream = sessions[client % sessions.length]!.request({':path': path, ...headers});
      stream.on('data', () => {});
      stream.on('end', resolve);
      stream.on('error', reject);
    });
};

const [, , argument] = process.argv;
if (argument) await run(JSON.parse(argument) as Load);
