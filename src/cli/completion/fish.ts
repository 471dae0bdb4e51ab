import type {CompletedCommand, CompletedFlag} from './commands.js';

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;

const flagLine = (target: string, {name, shorthand, isSwitch, values, about}: CompletedFlag): string => {
  const value = isSwitch ? '' : values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : ' -r';
  return `complete ${target}${shorthand ? ` -s ${shorthand}` : ''} -l ${name}${value} -d ${quoted(about)}`;
};

const linesOf = ({program, command, about, subcommands, flags}: CompletedCommand): readonly string[] => {
  if (command === undefined) return flags.map(flag => flagLine(`-c ${program}`, flag));
  const seen = `__fish_seen_subcommand_from ${command}`;
  const first =
    subcommands.length > 0
      ? [
          `complete -c ${program} -n ${quoted(`${seen}; and not __fish_seen_subcommand_from ${subcommands.join(' ')}`)} -f -a ${quoted(subcommands.join(' '))}`,
        ]
      : [];
  return [
    `complete -c ${program} -n __fish_use_subcommand -f -a ${command} -d ${quoted(about)}`,
    ...first,
    ...flags.map(flag => flagLine(`-c ${program} -n ${quoted(seen)}`, flag)),
  ];
};

/** Returns the script for fish. */
export const fishScript = (commands: readonly CompletedCommand[]): string => `${commands.flatMap(linesOf).join('\n')}\n`;
