import test from 'ava';
import {advance, type PodContext} from '#src/simulation/pod/advance.js';
import type {PodRecord} from '#src/simulation/pod/record.js';

/** A pod whose containers have not started, at `now`. */
const nextTimeOf = (now: number, waits: object): number =>
  advance(
    {
      pod: {spec: {containers: []}},
      isFinished: false,
      containers: [],
      sandbox: 'pending',
      sandboxAt: 0,
      startTime: 0,
      ...waits,
    } as unknown as PodRecord,
    {now, kills: []} as unknown as PodContext,
  );

for (const [what, waits] of [
  ['its devices', {devices: {isPrepared: false, retryAt: 100}}],
  ['its volumes', {mounting: {waiting: ['v'], retryAt: 100}}],
  ['a reference', {missing: {mount: {volume: 'v', why: 'not there'}, retryAt: 100}}],
] as const)
  test(`a retry of ${what} that falls due between the look and the step is not lost`, t => {
    t.is(nextTimeOf(99, waits), 100);
    t.is(nextTimeOf(100, waits), 101);
    t.is(nextTimeOf(150, waits), 151);
  });
