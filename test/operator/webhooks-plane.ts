import type {ExecutionContext} from 'ava';
import type {Clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {VirtualClock} from '#src/base/virtual-clock.js';
import {createManager, type Webhook} from '#src/operator/index.js';
import {startPlane} from '#src/plane/plane.js';

/** A plane with a manager that serves webhooks for it, and keeps the configurations named `backups`. */
export const aPlane = async <C extends Clock>(t: ExecutionContext, handlers: readonly Webhook[], clock: C) => {
  const plane = await startPlane({listen: false, clock, controllerManagerArgs: ['--controllers=namespace-controller']});
  t.teardown(() => plane.stop());
  const client = plane.client();
  const stop = new AbortController();
  const manager = createManager({
    name: 'backups',
    controllers: [],
    client,
    clock,
    log: noLog,
    webhooks: {
      handlers,
      certificate: {secret: 'hooks', namespace: 'default'},
      bindAddress: '127.0.0.1',
      port: 0,
      configurations: ['backups'],
    },
  });
  const ended = manager.run(stop.signal);
  t.teardown(async () => {
    stop.abort();
    if (clock instanceof VirtualClock) await clock.drain();
    await ended;
  });
  const url = `https://127.0.0.1:${await manager.webhookPort}`;
  return {clock, plane, client, url, manager};
};
