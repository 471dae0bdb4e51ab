import {kinds} from '#src/api/kinds/index.js';
import {defineController, defineLongRunning, settled, type KeyedController, type Run} from '#src/runtime/controller.js';

export const second = 1000;
export const named = (name: string, rest: Partial<KeyedController> = {}) =>
  defineController({
    doc: 'Does nothing.',
    name,
    serviceAccount: `${name}-account`,
    primary: kinds.configMaps,
    create: () => async () => settled,
    ...rest,
  });

export const running = (name: string, run: Run) => defineLongRunning({doc: 'Runs.', name, serviceAccount: name, create: () => run});

export const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => signal.addEventListener('abort', () => resolve(), {once: true}));
