// Reads what a release of the original has, from its source and the help of its programs.
import {existsSync, readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {parse} from 'yaml';

const json = file => JSON.parse(readFileSync(file, 'utf8'));
const yaml = file => parse(readFileSync(file, 'utf8'));

/** Resources by `group/version resource`, with their verbs. */
const resourcesOf = folder => {
  const found = new Map();
  for (const {metadata, versions} of json(join(folder, 'api/discovery/aggregated_v2.json')).items)
    for (const {version, resources = []} of versions)
      for (const {resource, verbs, subresources = []} of resources) {
        const path = `${metadata.name}/${version} ${resource}`;
        found.set(path, [...verbs].sort().join(', '));
        for (const {subresource, verbs: own} of subresources) found.set(`${path}/${subresource}`, [...own].sort().join(', '));
      }
  return found;
};

const shown = ({type, $ref, items, additionalProperties, format}) =>
  $ref
    ? $ref.slice($ref.lastIndexOf('.') + 1)
    : items
      ? `[]${shown(items)}`
      : additionalProperties
        ? `map of ${shown(additionalProperties)}`
        : [type, format].filter(Boolean).join(' ');

/** Types by name, each with its fields and the form of their values. */
const typesOf = folder => {
  const types = new Map();
  for (const [name, {properties = {}, required = []}] of Object.entries(json(join(folder, 'api/openapi-spec/swagger.json')).definitions))
    types.set(
      name.replace(/^io\.k8s\.(?:api|apimachinery\.pkg\.apis|kube-aggregator\.pkg\.apis|apiextensions-apiserver\.pkg\.apis)\./, ''),
      new Map(Object.entries(properties).map(([field, schema]) => [field, shown(schema) + (required.includes(field) ? ', required' : '')])),
    );
  return types;
};

const versionOrder = (one, other) => one.localeCompare(other, 'en', {numeric: true});

/** Feature gates by name, as they are in the newest version that the list has. */
const gatesOf = folder =>
  new Map(
    yaml(join(folder, 'test/compatibility_lifecycle/reference/versioned_feature_list.yaml')).map(({name, versionedSpecs}) => {
      const {
        preRelease,
        default: on,
        lockToDefault,
      } = [...versionedSpecs].sort((one, other) => versionOrder(one.version, other.version)).at(-1);
      return [name, `${preRelease.toLowerCase()}, ${on ? 'on' : 'off'}${lockToDefault ? ', locked' : ''}`];
    }),
  );

/** Metrics by their full names, with type, stability and labels. */
const metricsOf = folder =>
  new Map(
    yaml(join(folder, 'test/instrumentation/documentation/documentation-list.yaml')).map(
      ({namespace, subsystem, name, type, stabilityLevel, labels = []}) => [
        [namespace, subsystem, name].filter(Boolean).join('_'),
        `${type.toLowerCase()}, ${stabilityLevel.toLowerCase()}${labels.length > 0 ? `, by ${labels.join(', ')}` : ''}`,
      ],
    ),
  );

/** Flags by `program --flag`, with type and default, from the files `help/PROGRAM.txt`. */
const flagsOf = folder => {
  const help = join(folder, 'help');
  if (!existsSync(help)) return undefined;
  const flags = new Map();
  for (const file of readdirSync(help).filter(each => each.endsWith('.txt')))
    for (const line of readFileSync(join(help, file), 'utf8').split('\n')) {
      const [, name, type = 'bool', text = ''] = /^\s+(?:-\w, )?--([\w-]+)(?:\[=[^\]]*\])?(?: (\S+))?(?:\s{2,}(.*))?$/.exec(line) ?? [];
      if (!name) continue;
      const [, value] = /\((?:default|Default) (.*)\)\s*$/.exec(text) ?? /\[default=(.*)\]\s*$/.exec(text) ?? [];
      flags.set(`${file.slice(0, -'.txt'.length)} --${name}`, value === undefined ? type : `${type}, default ${value}`);
    }
  return flags;
};

/**
 * Reads a release from a folder that has the original's source, in the layout of its repository. Flags are compared if
 * the folder has `help/PROGRAM.txt`, what `PROGRAM --help` prints.
 */
export const readRelease = folder => ({
  resources: resourcesOf(folder),
  types: typesOf(folder),
  gates: gatesOf(folder),
  flags: flagsOf(folder),
  metrics: metricsOf(folder),
});
