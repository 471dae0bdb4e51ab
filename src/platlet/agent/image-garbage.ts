// Part of the last stage of an agent: what removes images that nothing uses.

import {ImageGarbage} from '#src/platlet/image-garbage/garbage.js';
import type {ImageAccess} from '#src/platlet/images/image-access.js';
import type {Cluster} from './cluster.js';
import type {AgentParts} from './parts.js';

/** The values of the stages before. */
interface Before {
  readonly cluster: Pick<Cluster, 'events' | 'node'>;
  readonly imageAccess: ImageAccess | undefined;
}

/** Creates what removes images. It begins as a feature. */
export const imageGarbageOf = (
  {settings, gate, runtime, host, clock, log, metrics}: AgentParts,
  {cluster: {events, node}, imageAccess}: Before,
  signal: AbortSignal,
): ImageGarbage =>
  new ImageGarbage({
    runtime,
    host,
    clock,
    log,
    signal,
    warn: (reason, message) => events.warning(node, reason, message),
    observer: {
      removed: reason => metrics.collectedImages.add({reason}),
      ...(imageAccess ? {collected: (present, since) => imageAccess.prune(present, since)} : {}),
    },
    settings: {
      highPercent: settings.imageGCHighThresholdPercent,
      lowPercent: settings.imageGCLowThresholdPercent,
      minAgeMs: settings.imageMinimumGCAge,
      maxAgeMs: settings.imageMaximumGCAge,
      mountsImages: gate('ImageVolume'),
      knowsHandlers: gate('RuntimeClassInImageCriApi'),
    },
  });
