import {closest} from '#src/base/text/closest.js';
import {oneLine} from '#src/program/program.js';
import {commands} from './commands.js';

const usage = `plat: a Kubernetes-style control plane

Usage:
  plat COMMAND [flags]

Commands:
${Object.entries(commands)
  .map(([name, {about}]) => `  ${name.padEnd(12)} ${about}`)
  .join('\n')}

"plat COMMAND --help" or "plat help COMMAND" prints the flags of a command, "plat --version" the version.
`;

const commandOf = (name: string) => (Object.hasOwn(commands, name) ? commands[name] : undefined);

const refuse = (name: string): never => {
  const similar = closest(name, Object.keys(commands));
  const hint = similar === undefined ? '"plat --help" lists the commands' : `did you mean "plat ${similar}"?`;
  process.stderr.write(`plat: ${oneLine(`unknown command ${JSON.stringify(name)}: ${hint}`)}\n`);
  process.exit(1);
};

const main = async ([name = '', ...argv]: readonly string[]): Promise<void> => {
  const command = commandOf(name);
  if (command) return command.run(argv);
  if (/^--version(=|$)/.test(name)) return commands['version']!.run(name === '--version' ? argv : [name]);
  if (!['', '-h', '--help', 'help'].includes(name)) return refuse(name);
  const [subject] = name === 'help' ? argv : [];
  if (subject === undefined) return void process.stdout.write(usage);
  await (commandOf(subject) ?? refuse(subject)).run(['--help']);
};

void main(process.argv.slice(2));
