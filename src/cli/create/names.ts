import {defaultNames} from '#src/codegen/kind-tags.js';

/** The names in a project. */
export interface ProjectNames {
  /** Of the project, the controller and the objects in its manifests. */
  readonly name: string;
  readonly group: string;
  readonly kind: string;
  readonly plural: string;
  /** The kind as the name of a file. */
  readonly file: string;
}

const label = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const domain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)+$/;

/** Names that the project's sources import or the language has. */
const taken: ReadonlySet<string> = new Set([
  'ConfigMap',
  'KubeObject',
  'Condition',
  'Frozen',
  'Webhook',
  'VirtualClock',
  'Object',
  'Record',
  'Promise',
  'String',
  'Number',
  'Symbol',
  'AbortController',
]);

const singularOf = (name: string): string => {
  const last = name.replace(/-operator$/, '');
  if (/[^aeiou]ies$/.test(last)) return `${last.slice(0, -3)}y`;
  if (/(ss|x|ch|sh)es$/.test(last)) return last.slice(0, -2);
  return /[^s]s$/.test(last) ? last.slice(0, -1) : last;
};

const pascal = (text: string): string => text.replaceAll(/(?:^|-)([a-z0-9])/g, (_, first: string) => first.toUpperCase());

/** Returns the names of a project. Throws an error of one line for one that cannot be used. */
export const projectNames = (name: string, {group, kind: given}: {readonly group: string; readonly kind: string}): ProjectNames => {
  if (!label.test(name) || name.length > 40)
    throw new Error(
      `the name ${JSON.stringify(name)} must be lower-case letters, digits and "-", begin with a letter and have at most 40 characters`,
    );
  return {name, ...kindNames(given || pascal(singularOf(name)), group)};
};

/** Returns the names of a kind. Throws an error of one line for one that cannot be used. */
export const kindNames = (kind: string, group: string): Omit<ProjectNames, 'name'> => {
  if (!domain.test(group)) throw new Error(`--group must be a domain such as example.com, not ${JSON.stringify(group)}`);
  if (!/^[A-Z][A-Za-z0-9]{0,59}$/.test(kind))
    throw new Error(`--kind must be a name in CamelCase such as Backup, not ${JSON.stringify(kind)}`);
  if (taken.has(kind)) throw new Error(`the kind ${kind} would hide a name that the project needs: choose another with --kind`);
  const file = kind.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
  return {
    group,
    kind,
    plural: defaultNames(kind).plural,
    file: ['controller', 'main', 'operator'].includes(file) ? `${file}-kind` : file,
  };
};
