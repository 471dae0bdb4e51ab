import type {Frozen} from '#src/api/key.js';
import type {AnyContainer, Pod} from '#src/api/pod.js';
import {entriesOf} from '#src/simulation/log/entry.js';
import {environment, expanded} from '#src/simulation/pod/environment.js';
import {exactly, never, type Settings} from '#src/simulation/rules/behavior.js';
import {courseOf, type Course} from './course.js';

const defaultMessagePath = '/dev/termination-log';

/** The image that does nothing, by whatever registry and tag. */
const pauseImage = /(^|\/)pause([:@]|$)/;

/** The words a container is started with, as far as its spec tells them; undefined where a value in them is nobody's to know here. */
const wordsOf = ({command = [], args = []}: Frozen<AnyContainer>, valueOf: (name: string) => string | undefined): readonly string[] | undefined => {
  const words = [...command, ...args].map(word => expanded(word, name => valueOf(name)));
  return words.every(word => word !== undefined) ? words : undefined;
};

/** What a command may read of a container's environment. A reference in the spec to what is not there stays as it is written. */
export const surroundings = (pod: Frozen<Pod>, container: Frozen<AnyContainer>) => {
  const values = environment(pod, container);
  const isWhole = !container.envFrom?.length;
  return {
    written: (name: string) => (values.has(name) ? values.get(name) : isWhole ? `$(${name})` : undefined),
    valueOf: (name: string) => (values.has(name) ? values.get(name) : name === 'HOSTNAME' ? (pod.spec?.hostname ?? pod.metadata?.name) : undefined),
    messagePath: container.terminationMessagePath ?? defaultMessagePath,
  };
};

const isPause = (words: readonly string[]): boolean => words.length > 0 && words.length <= 2 && /^\/?pause$/.test(words.at(-1)!);

/** What reads its input until that ends: a shell without a script, or a program that copies it. */
const reader = ([name = '', ...args]: readonly string[]): Settings['stdin'] => {
  if (args.length > 0) return undefined;
  const base = name.slice(name.lastIndexOf('/') + 1);
  return base === 'cat' ? 'echo' : /^(ba|a|da)?sh$/.test(base) ? 'shell' : undefined;
};

const isOpen = (container: Frozen<AnyContainer>): boolean => (container as {stdin?: boolean}).stdin === true;

const found = new WeakMap<object, Settings>();

/** How a container behaves by what its image and its command plainly say. */
export const saidBy = (pod: Frozen<Pod>, container: Frozen<AnyContainer>): Settings => {
  const known = found.get(container);
  if (known) return known;
  const said = settingsOf(pod, container);
  found.set(container, said);
  return said;
};

const nothing: Settings = {};
const goesOn: Settings = {runFor: never, log: []};

const settingsOf = (pod: Frozen<Pod>, container: Frozen<AnyContainer>): Settings => {
  const {command = [], args = [], image = ''} = container;
  if (command.length + args.length === 0) return pauseImage.test(image) ? goesOn : nothing;
  const around = surroundings(pod, container);
  const words = wordsOf(container, around.written);
  if (!words) return nothing;
  if (isPause(words)) return goesOn;
  const reads = reader(words);
  if (reads) return isOpen(container) ? {...goesOn, stdin: reads} : settingsBy({output: [], lastsMs: 0, exitCode: 0});
  const course = courseOf(words, around);
  if (course) return settingsBy(course);
  return pauseImage.test(image) ? goesOn : nothing;
};

/** However little a container does, it is seen running: starting and noticing the end take their time. */
const leastMs = 100;

const settingsBy = ({output, lastsMs, exitCode, message}: Course): Settings => ({
  runFor: lastsMs === Infinity ? never : exactly(Math.max(lastsMs, leastMs)),
  exitCodes: [exitCode],
  log: entriesOf(output),
  ...(message ? {exitMessage: message} : {}),
});
