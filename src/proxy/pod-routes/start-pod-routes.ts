// Starts the routes of a node with informers of their own.

import {InformerFactory} from '#informers/factory.js';
import {noMeter} from '#src/base/meter.js';
import {systemRandom as random} from '#src/base/random.js';
import {Undo} from '#src/base/undo.js';
import type {Client} from '#src/client/client.js';
import {PodRoutes, type PodRoutesParts} from './pod-routes.js';

type Parts = Pick<PodRoutesParts, 'nodeName' | 'kernel' | 'clock' | 'log'> & {readonly client: Client};

/** Keeps the routes of a node until disposed of. Resolves once they were written. */
export const startPodRoutes = async ({client, ...parts}: Parts): Promise<AsyncDisposable> => {
  const {clock, log} = parts;
  await using undo = new Undo();
  const ending = new AbortController();
  undo.defer(() => ending.abort());
  const {signal} = ending;
  const informers = new InformerFactory({client, clock, random, log, meter: noMeter, minResyncMs: 0, signal});
  const routes = new PodRoutes({...parts, informers, signal});
  undo.defer(() => routes.stop());
  informers.start();
  await routes.start();
  return undo.move();
};
