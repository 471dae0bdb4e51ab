import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {missingImageError} from './images.js';
import {entriesOf} from './log-entry.js';
import {expand} from '#src/model/pod/expansion.js';
import {environment} from '#src/simulation/command/environment.js';
import {exactly, never, type Settings} from '#src/simulation/rules/behavior.js';
import {simulateCommand, type CommandOutcome} from '#src/simulation/command/outcome.js';

const defaultMessagePath = '/dev/termination-log';

/** The pause image, from any registry and with any tag, and the test image that pauses by default. */
const pauseImage = /(^|\/)pause([:@]|$)/;
const pausesByDefault = /(^|\/)(pause|agnhost)([:@]|$)/;

/** The maximum number of words of a command line. */
const mostWords = 16_384;

/** Returns the command line of a container; undefined if it refers to an unknown value or is too long. */
const commandLineOf = (
  {command = [], args = []}: Frozen<AnyContainer>,
  valueOf: (name: string) => string | undefined,
): readonly string[] | undefined => {
  if (command.length + args.length > mostWords) return undefined;
  const words = [...command, ...args].map(word => expand(word, name => valueOf(name)));
  return words.every(word => word !== undefined) ? words : undefined;
};

/** Returns the environment visible to a command. References to undefined variables are left as they are. */
export const commandEnvironment = (pod: Frozen<Pod>, container: Frozen<AnyContainer>) => {
  const values = environment(pod, container);
  const isComplete = !container.envFrom?.length;
  return {
    written: (name: string) => (values.has(name) ? values.get(name) : isComplete ? `$(${name})` : undefined),
    valueOf: (name: string) =>
      values.has(name) ? values.get(name) : name === 'HOSTNAME' ? (pod.spec?.hostname ?? pod.metadata?.name) : undefined,
    messagePath: container.terminationMessagePath ?? defaultMessagePath,
  };
};

const isPause = (words: readonly string[]): boolean => words.length > 0 && words.length <= 2 && /^\/?pause$/.test(words.at(-1)!);

/** Returns how a container reads its standard input: as a shell without a script, or as a program that copies it. */
const stdinReaderOf = ([name = '', ...args]: readonly string[]): Settings['stdin'] => {
  if (args.length > 0) return undefined;
  const base = name.slice(name.lastIndexOf('/') + 1);
  return base === 'cat' ? 'echo' : /^(ba|a|da)?sh$/.test(base) ? 'shell' : undefined;
};

const isOpen = (container: Frozen<AnyContainer>): boolean => (container as {stdin?: boolean}).stdin === true;

const cache = new WeakMap<object, Settings>();

/** Returns the settings of a container that follow from its image and command. */
export const inferredSettings = (pod: Frozen<Pod>, container: Frozen<AnyContainer>): Settings => {
  const known = cache.get(container);
  if (known) return known;
  const pullError = missingImageError(container.image ?? '');
  const inferred = {...settingsOf(pod, container), ...(pullError === undefined ? {} : {pullError})};
  cache.set(container, inferred);
  return inferred;
};

const noSettings: Settings = {};
const runsForever: Settings = {runFor: never, log: []};

const settingsOf = (pod: Frozen<Pod>, container: Frozen<AnyContainer>): Settings => {
  const {command = [], args = [], image = ''} = container;
  if (command.length + args.length === 0) return pausesByDefault.test(image) ? runsForever : noSettings;
  const around = commandEnvironment(pod, container);
  const words = commandLineOf(container, around.written);
  if (!words) return noSettings;
  if (isPause(words)) return runsForever;
  const reads = stdinReaderOf(words);
  if (reads) return isOpen(container) ? {...runsForever, stdin: reads} : settingsFromOutcome({output: [], durationMs: 0, exitCode: 0});
  const outcome = simulateCommand(words, around);
  if (outcome) return settingsFromOutcome(outcome);
  return pauseImage.test(image) ? runsForever : noSettings;
};

/** The minimum duration of a run: starting a container and detecting its exit take time. */
const minRunMs = 100;

const settingsFromOutcome = ({output, durationMs, exitCode, message}: CommandOutcome): Settings => ({
  runFor: durationMs === Infinity ? never : exactly(Math.max(durationMs, minRunMs)),
  exitCodes: [exitCode],
  log: entriesOf(output),
  ...(message ? {exitMessage: message} : {}),
});
