import type {CompletedCommand} from './commands.js';

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const keyOf = ({program, command}: CompletedCommand): string => (command === undefined ? program : `${program} ${command}`);

const wordsOf = (command: CompletedCommand): string => {
  const {flags, subcommands, names} = command;
  const switches = flags
    .filter(({isSwitch}) => isSwitch)
    .flatMap(({name, shorthand}) => (shorthand ? [`--${name}`, `-${shorthand}`] : [`--${name}`]));
  return `    ${quoted(keyOf(command))})
      flags=${quoted(flags.map(({name}) => `--${name}`).join(' '))}
      switches=${quoted(switches.join(' '))}
      subcommands=${quoted(subcommands.join(' '))}
      names=${quoted(names ?? '')}
      ;;`;
};

const valuesOf = (command: CompletedCommand): readonly string[] =>
  command.flags
    .filter(({values, names}) => values.length > 0 || names !== undefined)
    .map(({name, values, names}) => {
      const found = names === undefined ? `values=${quoted(values.join(' '))}` : `values=$(_plat_${names})`;
      return `    ${quoted(`${keyOf(command)} --${name}`)}) ${found} ;;`;
    });

/**
 * Returns the script for bash. A word after a flag that needs a value is completed with the values of the flag, any other one with subcommands and flags; where
 * nothing is known, bash completes files. Bash splits words at `=`, zsh does not. The names of planes are those of the files of the registry.
 */
export const bashScript = (commands: readonly CompletedCommand[]): string => {
  const programs = [...new Set(commands.map(({program}) => program))];
  const names = commands.flatMap(({command}) => (command === undefined ? [] : [command]));
  return `_plat_planes() {
  local file
  for file in $(command ls -- "\${PLAT_HOME:-\${XDG_DATA_HOME:-$HOME/.local/share}/plat}/planes" 2>/dev/null); do
    if [[ $file =~ ^([a-z0-9-]+)\\.json$ ]]; then printf '%s\\n' "\${file%.json}"; fi
  done
}

_plat_words() {
  flags='' switches='' subcommands='' names=''
  case "$1" in
${commands.map(wordsOf).join('\n')}
  esac
}

_plat_values() {
  values=''
  case "$1" in
${commands.flatMap(valuesOf).join('\n')}
  esac
}

_plat() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" program="\${COMP_WORDS[0]##*/}"
  local flags switches subcommands names values flag='' prefix='' position=1 word
  COMPREPLY=()
  if [[ $program == plat ]]; then
    if (( COMP_CWORD == 1 )); then
      COMPREPLY=($(compgen -W ${quoted([...names, 'help', '--help', '--version'].join(' '))} -- "$current"))
      return
    fi
    if [[ \${COMP_WORDS[1]} == help ]]; then
      if (( COMP_CWORD == 2 )); then COMPREPLY=($(compgen -W ${quoted(names.join(' '))} -- "$current")); fi
      return
    fi
    program="plat \${COMP_WORDS[1]}"
    position=2
  fi
  _plat_words "$program"
  if [[ $current == = ]]; then
    flag=$previous current=''
  elif [[ $previous == = ]]; then
    flag=\${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $current == --*=* ]]; then
    flag=\${current%%=*} current=\${current#*=}
    prefix="$flag="
  elif [[ $previous == -* && $previous != -- && $current != -* && " $switches " != *" $previous "* ]]; then
    flag=$previous
  fi
  if [[ -n $flag ]]; then
    _plat_values "$program $flag"
    if [[ -n $values ]]; then COMPREPLY=($(compgen -P "$prefix" -W "$values" -- "$current")); fi
    return
  fi
  if [[ $current == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$current"))
  elif (( COMP_CWORD == position )) && [[ -n $subcommands ]]; then
    COMPREPLY=($(compgen -W "$subcommands" -- "$current"))
  elif [[ -n $names ]]; then
    COMPREPLY=($(compgen -W "$("_plat_$names")" -- "$current"))
  fi
}

complete -o default -F _plat ${programs.join(' ')}
`;
};
