import {jsonText} from '#src/base/json/json.js';
import {dirname, resolve} from 'node:path';
import type {Naming} from '#src/api/naming.js';
import {parseConfiguration, readConfiguration} from '#src/apiserver/configuration/document.js';
import {anything, list, record, text} from '#src/apiserver/configuration/fields.js';
import {isPlainObject, ownField} from '#src/schema/decode/plain.js';

/** The configuration of each plugin, by its name. */
export type PluginTexts = ReadonlyMap<string, string>;

interface Entry {
  readonly name?: string;
  readonly path?: string;
  readonly configuration?: unknown;
}

/** Kinds without a group and version, whose configuration was the whole file before the file had its own kind. */
const unversioned = {imagePolicy: 'ImagePolicyWebhook', podNodeSelectorPluginConfig: 'PodNodeSelector'} as const;

const ofOldForm = (value: unknown): string | undefined =>
  isPlainObject(value) ? Object.entries(unversioned).find(([field]) => ownField(value, field) !== undefined)?.[1] : undefined;

/**
 * Reads the file of `--admission-control-config-file` and the files it refers to, relative to its directory. Throws an
 * error of one line, as `read` does for a file that cannot be read.
 */
export const readPluginTexts = (path: string, naming: Naming, read: (path: string) => string): PluginTexts => {
  const source = read(path);
  const body = parseConfiguration(source);
  const old = body.kind || body.apiVersion ? undefined : ofOldForm(body.value);
  if (old) return new Map([[old, source]]);
  const kind = {
    group: naming.group('apiserver.config'),
    versions: ['v1'],
    kind: 'AdmissionConfiguration',
    fields: {plugins: list(record({name: text, path: text, configuration: anything}))},
  };
  const {plugins = []} = readConfiguration<{readonly plugins?: readonly Entry[]}>(body, [kind]);
  const texts = new Map<string, string>();
  for (const {name = '', path: file, configuration} of plugins) {
    if (texts.has(name)) continue;
    if (configuration !== undefined) texts.set(name, jsonText(configuration));
    else if (file) texts.set(name, readBeside(path, name, file, read));
  }
  return texts;
};

const readBeside = (path: string, plugin: string, file: string, read: (path: string) => string): string => {
  try {
    return read(resolve(dirname(path), file));
  } catch (cause) {
    throw new Error(`${plugin}: ${(cause as Error).message}`, {cause});
  }
};
