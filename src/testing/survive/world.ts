import type {VirtualClock} from '#src/base/virtual-clock.js';
import type {Plane} from '#src/plane/inputs/embedded.js';
import type {Findings} from './findings.js';
import type {Trace} from './trace.js';

/** Where a run takes place, and what is noted about it. */
export interface World {
  readonly plane: Plane;
  readonly clock: VirtualClock;
  readonly trace: Trace;
  readonly findings: Findings;
}
