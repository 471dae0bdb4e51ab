import type {CompletedCommand, CompletedFlag} from './commands.js';

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", String.raw`\'`)}'`;

const valueOf = ({isSwitch, values, names}: CompletedFlag): string => {
  if (isSwitch) return '';
  if (names) return ` -x -a '(__plat_${names})'`;
  return values.length > 0 ? ` -x -a ${quoted(values.join(' '))}` : ' -r';
};

const flagLine = (target: string, flag: CompletedFlag): string => {
  const {name, shorthand, about} = flag;
  return `complete ${target}${shorthand ? ` -s ${shorthand}` : ''} -l ${name}${valueOf(flag)} -d ${quoted(about)}`;
};

const linesOf = ({program, command, about, subcommands, names, flags}: CompletedCommand): readonly string[] => {
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
    ...(names ? [`complete -c ${program} -n ${quoted(seen)} -f -a '(__plat_${names})'`] : []),
    ...flags.map(flag => flagLine(`-c ${program} -n ${quoted(seen)}`, flag)),
  ];
};

/** Prints the names of planes: those of the files of the registry. */
const planes = `function __plat_planes
    set -l home $PLAT_HOME
    if test -z "$home"
        set home $HOME/.local/share/plat
        if test -n "$XDG_DATA_HOME"
            set home $XDG_DATA_HOME/plat
        end
    end
    for file in $home/planes/*.json
        string replace -rf '.*/([a-z0-9-]+)\\.json$' '$1' -- $file
    end
end
`;

/** Returns the script for fish. */
export const fishScript = (commands: readonly CompletedCommand[]): string => `${planes}\n${commands.flatMap(linesOf).join('\n')}\n`;
