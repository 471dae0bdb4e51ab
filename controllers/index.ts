import type {Controller} from '#src/runtime/controller.js';

/** Every controller there is. */
export const controllers: readonly Controller[] = [];
