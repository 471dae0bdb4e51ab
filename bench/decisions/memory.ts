// Records 12 and 16: the memory of a server without each part that bounds it, and the processor time that each costs.

import {setTimeout as wait} from 'node:timers/promises';
import {configMap, configMapsIn} from '#bench/comparison/scene.js';
import {rateOf} from '#bench/load/api-client.js';
import {median, setting} from '#bench/load/each.js';
import {row, type Row} from '#bench/run/row.js';
import type {Run} from '#bench/run/subject.js';
import {memoryParts} from './parts.js';
import {startScene, type Scene} from './scene.js';
import type {Usage} from './server.js';

const [creations, lists, patches, stalledReaders] = [15_000, 24, 6000, 400];
const restMs = 15_000;
const made = configMapsIn('made');
const mergePatch = {'content-type': 'application/merge-patch+json'};

/** What the server does, step by step. Those of `many` are the operations of the subject `many`. */
const steps: Readonly<Record<string, (scene: Scene) => Promise<unknown>>> = {
  '15,000 creations': ({client}) => rateOf(creations, 64, index => client.call('POST', made, {body: configMap('made', `o-${index}`)})),
  '24 LISTs of these, two at once': ({client}) => rateOf(lists, 2, () => client.call('GET', `${made}?resourceVersion=0`)),
  '6,000 patches': ({client}) =>
    rateOf(patches, 64, index => client.call('PATCH', `${made}/o-${index}`, {body: {data: {n: String(index)}}, headers: mergePatch})),
  '15 s of rest': () => wait(restMs),
  'ten LISTs at once': ({many}) => many('ten LISTs at once'),
  'ten watch-lists': ({many}) => many('ten watch-lists'),
  'readers that stall': ({many}) => many('readers that stall'),
  '15 s more of rest': () => wait(restMs),
};

/** With all parts, or without one. */
const variants = ['all parts', ...memoryParts] as const;

type Variant = (typeof variants)[number];

const nameOf = (variant: Variant): string => (variant === 'all parts' ? variant : `without ${variant}`);

/** Returns the usage after each step: its peak and processor time are those of the step. */
const measured = async (variant: Variant, run: Run): Promise<Map<string, Usage>> => {
  const without = variant === 'all parts' ? [] : [variant];
  await using scene = await startScene({count: setting('BENCH_OBJECTS', 100_000), without, readers: stalledReaders});
  const found = new Map<string, Usage>();
  let before = (await scene.ask('usage')).cpuMs;
  for (const [name, act] of Object.entries(steps)) {
    run.step(`${nameOf(variant)}: ${name}`);
    await act(scene);
    const usage = await scene.ask('usage');
    found.set(name, {...usage, cpuMs: usage.cpuMs - before});
    before = usage.cpuMs;
  }
  return found;
};

/**
 * Each variant in a process of its own, in turns. BENCH_ROUNDS is how often (3), BENCH_OBJECTS the number of objects
 * that are listed (100,000), BENCH_ONLY a regular expression of variants.
 */
export async function* memoryPartRows(run: Run): AsyncGenerator<Row> {
  const chosen = variants.filter(variant => new RegExp(process.env['BENCH_ONLY'] ?? '').test(variant));
  const found = new Map(chosen.map(variant => [variant, [] as Map<string, Usage>[]]));
  for (let round = 0; round < setting('BENCH_ROUNDS', 3); round++)
    for (const variant of chosen) found.get(variant)!.push(await measured(variant, run));
  for (const step of Object.keys(steps)) {
    for (const [variant, rounds] of found) {
      const of = (member: keyof Usage): number[] => rounds.map(usages => usages.get(step)![member]);
      const list = (member: keyof Usage): string => of(member).map(Math.round).join(', ');
      yield row(`after ${step}: ${nameOf(variant)}`, median(of('residentMb')), 'MB', {
        note: `${list('residentMb')}; mapped ${list('mappedMb')}; peak ${list('peakMb')}; processor ${list('cpuMs')} ms`,
      });
    }
  }
}
