import {commandClient} from '#src/cli/program/command-client.js';
import type {topFlags} from '#src/options/programs/top.js';
import type {Invocation} from '#src/program/program.js';
import {linesOf} from './screen.js';
import {jsonOf} from './view.js';
import {views, watchOnScreen} from './watching.js';

/** `plat top`: shows what a cluster does on a screen until it is left, or prints it. */
export const runTop = async ({
  parsed: {options},
  print,
  clock,
  stopping,
  version,
}: Invocation<(typeof topFlags)['rows']>): Promise<void> => {
  await using connection = await commandClient(options, version);
  const {client, server} = connection;
  const watching = {client, server, namespace: options.namespace || undefined, intervalMs: options.interval, clock, stopping};
  const isJson = options.output === 'json';
  if (!isJson && !options.once && process.stdout.isTTY) {
    const hasColour = !process.env['NO_COLOR'] && process.env['TERM'] !== 'dumb';
    return await watchOnScreen(watching, {keyboard: process.stdin, display: process.stdout, hasColour});
  }
  for await (const view of views(watching)) {
    if (isJson) print(JSON.stringify(jsonOf(view)));
    else for (const {text} of linesOf(view)) print(text);
    if (options.once || !isJson) return;
  }
};
