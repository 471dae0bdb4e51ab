// A process that watches many times and prints how late the events were.

import http2 from 'node:http2';
import https from 'node:https';
import type {Readable} from 'node:stream';
import {percentile} from './each.js';

/** The settings of the watching process, as JSON in its only argument. */
export interface Watching {
  readonly url: string;
  readonly path: string;
  readonly ca: string;
  readonly cert?: string;
  readonly key?: string;
  readonly watchers: number;
  /** The number of HTTP/2 connections that the watchers share. By default each has its own, with HTTP/1.1. */
  readonly connections?: number;
  /** The number of events that each watcher waits for. */
  readonly events: number;
  readonly timeoutMs: number;
}

export interface Watched {
  /** The number of watchers that received every event. */
  readonly complete: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly mostMs: number;
}

/** Objects contain the time of the write in ms since the epoch; both processes use the machine's clock. */
const mark = '"at":"';
const newline = 10;
const quote = 34;

/** Returns the time in ms since the epoch, with fractions. */
export const now = (): number => performance.timeOrigin + performance.now();

type Open = (index: number) => Promise<Readable>;

const overHttp1 = ({url, path, ca, cert, key}: Watching): Open => {
  const agent = new https.Agent({ca, ...(cert && key ? {cert, key} : {}), maxSockets: Infinity, keepAlive: true});
  return () =>
    new Promise((resolve, reject) => {
      const request = https.get(`${url}${path}`, {agent}, response => {
        if (response.statusCode === 200) resolve(response);
        else reject(new Error(`answered ${response.statusCode}`));
      });
      request.once('error', reject);
    });
};

const overHttp2 = ({url, path, ca, cert, key}: Watching, connections: number): Open => {
  const sessions = Array.from({length: connections}, () =>
    http2.connect(url, {ca, ...(cert && key ? {cert, key} : {})}).setMaxListeners(0),
  );
  return index =>
    new Promise((resolve, reject) => {
      const stream = sessions[index % connections]!.request({':path': path});
      stream.once('response', ({':status': status}) => {
        if (status === 200) resolve(stream);
        else reject(new Error(`answered ${status}`));
      });
      stream.once('error', reject);
    });
};

/** Resolves when all of those events have arrived, or the time is over. */
const received = (streams: readonly Readable[], {events, timeoutMs}: Watching): Promise<Watched> => {
  const delays: number[] = [];
  let complete = 0;
  return new Promise(resolve => {
    const finish = () => {
      clearTimeout(timer);
      delays.sort((a, b) => a - b);
      resolve({complete, p50Ms: percentile(delays, 0.5), p99Ms: percentile(delays, 0.99), mostMs: percentile(delays, 1)});
    };
    const timer = setTimeout(finish, timeoutMs);
    for (const stream of streams) {
      let count = 0;
      stream.on('data', (chunk: Buffer) => {
        // Only the oldest event of a chunk is parsed; parsing all would measure the client.
        const at = chunk.indexOf(mark);
        const end = at === -1 ? -1 : chunk.indexOf(quote, at + mark.length);
        if (end !== -1) delays.push(now() - Number(chunk.toString('latin1', at + mark.length, end)));
        const before = count;
        for (let at = chunk.indexOf(newline); at !== -1; at = chunk.indexOf(newline, at + 1)) count++;
        if (before < events && count >= events && ++complete === streams.length) finish();
      });
    }
  });
};

const run = async (watching: Watching): Promise<void> => {
  const open = watching.connections === undefined ? overHttp1(watching) : overHttp2(watching, watching.connections);
  const streams = await Promise.all(Array.from({length: watching.watchers}, (_, index) => open(index)));
  const result = received(streams, watching);
  console.log('open');
  console.log(JSON.stringify(await result));
  process.exit(0);
};

const [, entry, argument] = process.argv;
if (argument && entry?.endsWith('watchers.js')) await run(JSON.parse(argument) as Watching);
