import type {Clock} from '#src/base/clock.js';
import type {Random} from '#src/base/random.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {RunProbe} from './probe.js';

/** Shared by all probes of a node. */
export interface ProberParts {
  readonly clock: Clock;
  readonly random: Random;
  readonly events: EventRecorder;
  readonly run: RunProbe;
}
