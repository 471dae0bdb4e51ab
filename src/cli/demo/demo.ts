import {mkdirSync, mkdtempSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {systemClock as clock} from '#src/base/clock.js';
import {Undo} from '#src/base/undo.js';
import type {Invocation} from '#src/program/program.js';
import type {demoFlags} from '#src/options/programs/demo.js';
import {loadAuthority} from '#src/pki/authority.js';
import {startPlane} from '#src/plane/plane.js';
import {agentServerArgs} from '#src/cli/platlet/server-args.js';
import {demonstrateCleaner} from './cleaner.js';
import {findOpenSsl} from './openssl.js';
import {demonstrateNodeJoin, demonstrateRefusals, demonstrateUserRequest} from './scenario.js';

/**
 * `plat demo`: the main use case from end to end with real keys and a real port. Rejects at the first unexpected
 * result.
 */
export const runDemo = async (invocation: Invocation<(typeof demoFlags)['rows']>): Promise<void> => {
  const {
    parsed: {options},
    log,
    stopping,
    print,
  } = invocation;
  const started = clock.monotonic();
  const directory = mkdtempSync(join(tmpdir(), 'plat-demo-'));
  await using undo = new Undo();
  undo.defer(() => rmSync(directory, {recursive: true, force: true}));
  let step = 0;
  const printStep = (line: string) => {
    if (stopping.aborted) throw new Error('stopped before its end; nothing stays behind');
    print(`${String(++step).padStart(2)}. ${line}`);
  };

  const plane = await startPlane({
    record: false,
    naming: options.naming,
    dataDir: join(directory, 'plane'),
    log: log.v(1),
    ...(options.agent ? {bootstrapTokens: true, apiserverArgs: agentServerArgs} : {}),
  });
  undo.defer(() => plane.stop());
  printStep(`A control plane runs at ${plane.url} (${options.naming} naming), ready after ${Math.round(clock.monotonic() - started)} ms.`);
  const pem = (file: string) => readFileSync(join(directory, 'plane', 'pki', file), 'utf8');
  const ca = pem('ca.crt');
  const opensslDirectory = join(directory, 'openssl');
  mkdirSync(opensslDirectory, {mode: 0o700});
  const context = {
    plane,
    authority: loadAuthority('demo', ca, pem('ca.key')),
    ca,
    admin: plane.client(),
    clock,
    openssl: await findOpenSsl(opensslDirectory),
    print: printStep,
  };
  await demonstrateNodeJoin(context);
  await demonstrateUserRequest(context);
  await demonstrateRefusals(context);
  if (options.agent) {
    const {demonstrateContainers} = await import('./containers.js');
    await demonstrateContainers(context, join(directory, 'plane'), invocation);
  }
  await demonstrateCleaner(options.naming, printStep);
  printStep(`Everything was as expected, in ${((clock.monotonic() - started) / 1000).toFixed(1)} s. Nothing stays behind.`);
};
