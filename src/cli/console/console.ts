import {packageVersion} from '#src/api/version.js';
import {systemRandom} from '#src/base/random.js';
import {settingsFile} from '#src/cli/program/settings-file.js';
import {openConsole} from '#src/console/console.js';
import {realTime} from '#src/console/time.js';
import type {consoleFlags} from '#src/options/programs/console.js';
import {untilStopped, type Invocation} from '#src/program/program.js';
import {openRelay} from '#src/transport/client/relay.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {openInBrowser} from './browser.js';

/** `plat console`: serves the page for a cluster until it is stopped. */
export const runConsole = async ({
  parsed: {options},
  log,
  clock,
  stopping,
  ready,
}: Invocation<(typeof consoleFlags)['rows']>): Promise<void> => {
  const file = settingsFile({...options, naming: 'auto'}, process.env);
  const settings = await loadSettings({file, master: options.master, context: options.context || undefined, env: process.env});
  using server = await openRelay(settings, {clock, log});
  await using page = await openConsole({
    upstream: request => server.relay(request),
    server: settings.server,
    version: packageVersion,
    time: realTime(clock),
    clock,
    random: systemRandom,
    log,
    at: {address: options.address, port: options.port},
  });
  const link = page.link();
  ready(link);
  if (options.open) await openInBrowser(link, stopping);
  await untilStopped(stopping);
};
