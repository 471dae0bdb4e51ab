import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {naming as namingOf} from '#src/api/naming.js';
import {systemClock as clock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import {seededRandom} from '#src/base/random.js';
import {MetricsRegistry} from '#src/observe/metrics.js';
import {apiserverFlags} from '#src/options/programs/apiserver.js';
import {flagValues} from '#src/options/flag-values.js';
import {parseFlags} from '#src/options/parse.js';
import {gateOf, versionInfoOf} from '#src/options/parsed-options.js';
import {assembleApiServer} from '#src/plane/api-server/api-server.js';
import {apiserverArgs} from '#src/plane/inputs/arguments.js';
import {planeMaterial} from '#src/plane/inputs/material.js';
import {requestThread} from '#src/plane/request-thread/request-thread.js';
import {memoryStore} from '#src/storage/memory/index.js';
import type {Network} from '#src/transport/network.js';
import {wire} from '#test/apiserver/wire.js';

const naming = namingOf('kubernetes');

/**
 * Starts a server as `plat up` does, with all APIs and the default admission plugins, over the memory store, with or
 * without the thread for large requests. Disposing of it stops it.
 */
export const sweepServer = async ({
  thread = true,
  flags: more = [],
  network,
}: {readonly thread?: boolean; readonly flags?: readonly string[]; readonly network?: Network} = {}) => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-sweep-'));
  const files = await planeMaterial(join(directory, 'pki'), clock);
  const args = ['--runtime-config=api/all=true', '--request-timeout=10m', ...more];
  const flags = apiserverArgs({naming: 'kubernetes', apiserverArgs: args, securePort: 6443}, files);
  const parsed = parseFlags(apiserverFlags, flags);
  const store = memoryStore({clock});
  const server = await assembleApiServer({
    options: parsed.options,
    naming,
    clock,
    random: seededRandom(1),
    log: {...noLog, warn: console.error, error: console.error},
    metrics: new MetricsRegistry(),
    store,
    version: versionInfoOf(parsed),
    versions: parsed.versions,
    flags: () => flagValues(apiserverFlags, parsed.options),
    gate: gateOf(parsed),
    serverAddress: '127.0.0.1:6443',
    ...(network ? {network} : {}),
    largeRequests: thread ? requestThread(flags) : undefined,
  });
  await server.begin();
  return {
    naming,
    store,
    registry: server.server.registry,
    handler: server.handler,
    /** Ends the loops that write objects of the server's own. */
    endLoops: () => server.endLoops(),
    ...wire(server.handler),
    async [Symbol.asyncDispose]() {
      server.endLoops();
      await server.close();
      rmSync(directory, {recursive: true, force: true});
    },
  };
};

export type SweepServer = Awaited<ReturnType<typeof sweepServer>>;
