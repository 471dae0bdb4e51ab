// The SELinux labels of files for containers, composed from the options of their processes. Pure functions.

import type {Frozen} from '#src/api/key.js';
import type {PodSpec} from '#src/api/pod.js';
import type {Random} from '#src/base/random.js';

export type SelinuxOptions = NonNullable<NonNullable<PodSpec['securityContext']>['seLinuxOptions']>;

/** The labels that the policy of a machine has for containers; empty if it has none. */
export interface ContainerLabels {
  readonly process: string;
  readonly file: string;
}

/** The parts of a label. The level may contain colons. */
interface Label {
  readonly user: string;
  readonly role: string;
  readonly type: string;
  readonly level: string;
}

/** A label could not be composed. */
export class LabelError extends Error {
  override readonly name = 'LabelError';
}

/** Returns the settings `name = value` of a file of a policy. */
export const parseSettings = (text: string): ReadonlyMap<string, string> => {
  const lines = text.split('\n').map(line => line.trim());
  const settings = lines.filter(line => line.includes('=') && !/^[;#]/.test(line));
  return new Map(
    settings.map(line => {
      const at = line.indexOf('=');
      return [line.slice(0, at).trim(), unquoted(line.slice(at + 1).trim())];
    }),
  );
};

const unquoted = (text: string): string => text.replace(/^"+|"+$/g, '');

const parseLabel = (text: string): Label => {
  const [user = '', role = '', type, ...level] = text.split(':');
  if (type === undefined) throw new LabelError('invalid Label');
  return {user, role, type, level: level.join(':')};
};

const categories = 1024;

/** Returns a level with two categories, as a container gets one that asks for none. */
export const randomLevel = (random: Pick<Random, 'float'>): string => {
  const one = Math.floor(random.float() * categories);
  const other = (one + 1 + Math.floor(random.float() * (categories - 1))) % categories;
  return `s0:c${Math.min(one, other)},c${Math.max(one, other)}`;
};

/**
 * Returns the label of the files of a container. User and level come from the options of its process, role and type
 * always from the policy. Throws `LabelError` if a label of the policy is malformed.
 */
export const fileLabelOf = ({user, level}: Frozen<SelinuxOptions>, {process, file}: ContainerLabels, otherLevel: () => string): string => {
  if (process === '' || file === '') return file;
  const own = parseLabel(file);
  const usual = parseLabel(process).level === '' ? own.level : otherLevel();
  const parts = [user || own.user, own.role, own.type, level || usual];
  return parts.filter((part, index) => index < 3 || part !== '').join(':');
};
