import {systemClock} from '#src/base/clock.js';
import type {whyFlags} from '#src/options/programs/questions/why.js';
import type {Invocation} from '#src/program/program.js';
import {commandClient} from '#src/cli/program/command-client.js';
import {explain} from '#src/why/explain.js';
import {Discovery} from '#src/why/facts/discovery.js';
import {reference} from '#src/why/facts/reference.js';
import {linesOf} from '#src/why/text.js';

/** The kind and the name of `KIND NAME` and of `KIND/NAME`. */
const subjectOf = (args: readonly string[]): readonly [kind: string, name: string] => {
  const [kind = '', name = '', ...more] = args.length === 1 ? (args[0] ?? '').split('/') : args;
  if (!kind || !name || more.length > 0) throw new Error('one object must be named, as KIND NAME or KIND/NAME');
  return [kind, name];
};

/** `plat why`: explains what an object waits for. Returns 2 if something blocks it. */
export const runWhy = async ({parsed: {options, args}, print, version}: Invocation<(typeof whyFlags)['rows']>): Promise<number> => {
  const [kind, name] = subjectOf(args);
  await using connection = await commandClient(options, version);
  const {client} = connection;
  const discovery = await Discovery.of(client);
  const of = reference(discovery.kindNamed(kind), name, options.namespace || connection.namespace || 'default');
  const now = systemClock.now();
  const explanation = await explain(client, of, {discovery, now});
  if (options.output === 'json') print(JSON.stringify(explanation, undefined, 2));
  else for (const line of linesOf(explanation, now)) print(line);
  return explanation.isBlocked ? 2 : 0;
};
