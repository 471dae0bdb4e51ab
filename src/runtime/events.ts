import type {Frozen} from '#src/api/key.js';
import type {KubeObject} from '#src/api/types.js';

/** An object an Event can be about: one from the server, with its kind where the server left it out. */
export type Regarding = Frozen<KubeObject>;

/** Tells people what happened to an object, as core Events. Never waits and never fails: what cannot be written is dropped. */
export interface EventRecorder {
  normal(about: Regarding, reason: string, message: string): void;
  warning(about: Regarding, reason: string, message: string): void;
}
