import type {CompletedCommand} from './commands.js';

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;

const keyOf = ({program, command}: CompletedCommand): string => (command === undefined ? program : `${program} ${command}`);

const wordsOf = (command: CompletedCommand): string => {
  const {flags, subcommands} = command;
  const switches = flags
    .filter(({isSwitch}) => isSwitch)
    .flatMap(({name, shorthand}) => (shorthand ? [`--${name}`, `-${shorthand}`] : [`--${name}`]));
  return `    ${quoted(keyOf(command))})
      flags=${quoted(flags.map(({name}) => `--${name}`).join(' '))}
      switches=${quoted(switches.join(' '))}
      subcommands=${quoted(subcommands.join(' '))}
      ;;`;
};

const valuesOf = (command: CompletedCommand): readonly string[] =>
  command.flags
    .filter(({values}) => values.length > 0)
    .map(({name, values}) => `    ${quoted(`${keyOf(command)} --${name}`)}) values=${quoted(values.join(' '))} ;;`);

/**
 * Returns the script for bash. A word after a flag that needs a value is completed with the values of the flag, any other one with subcommands and flags; where
 * nothing is known, bash completes files. Bash splits words at `=`, zsh does not.
 */
export const bashScript = (commands: readonly CompletedCommand[]): string => {
  const programs = [...new Set(commands.map(({program}) => program))];
  const names = commands.flatMap(({command}) => (command === undefined ? [] : [command]));
  return `_plat_words() {
  flags='' switches='' subcommands=''
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
  local flags switches subcommands values flag='' prefix='' position=1 word
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
  fi
}

complete -o default -F _plat ${programs.join(' ')}
`;
};
