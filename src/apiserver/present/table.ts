import {badRequest} from '#src/api/status.js';
import type {KubeObject, ListMeta, ObjectMeta} from '#src/api/types.js';
import type {Column, ResourceDefinition, RowCondition} from '#src/resources/definition.js';
import {columnsOf} from '#src/apiserver/registry/row-text.js';

/** The part of the object that a row of a table contains. */
export type IncludeObject = 'Metadata' | 'Object' | 'None';

/** The query parameter `includeObject`. Throws 400 for unknown values. */
export const includeObject = (value: string | null): IncludeObject => {
  if (value === null || value === '') return 'Metadata';
  if (value === 'Metadata' || value === 'Object' || value === 'None') return value;
  throw badRequest(
    `Unable to convert to Table as requested: includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`,
  );
};

interface TableSettings {
  readonly apiVersion: string;
  readonly includeObject: IncludeObject;
  readonly meta: ListMeta;
  /** Whether to include the column definitions. */
  readonly columns: boolean;
  cell(column: Column<KubeObject>, object: Readonly<KubeObject>): string | number | boolean | null;
  shown(object: Readonly<KubeObject>): unknown;
}

/** Objects as a server-side table (the API reference, meta/v1 Table). */
export const tableOf = (definition: ResourceDefinition, objects: readonly Readonly<KubeObject>[], settings: TableSettings) => {
  const columns = columnsOf(definition);
  return {
    kind: 'Table',
    apiVersion: settings.apiVersion,
    metadata: settings.meta,
    columnDefinitions: settings.columns
      ? columns
          .filter(({isUndeclared}) => !isUndeclared)
          .map(({name, type = 'string', format = '', description, priority = 0}) => ({name, type, format, description, priority}))
      : null,
    rows: objects.map(object => ({
      cells: columns.map(column => settings.cell(column, object)),
      ...conditionsOf(definition, object),
      object: rowObject(definition, object, settings),
    })),
  };
};

const conditionsOf = (definition: ResourceDefinition, object: Readonly<KubeObject>): {conditions?: readonly RowCondition[]} => {
  const conditions = definition.presentation?.rowConditions?.(object);
  return conditions ? {conditions} : {};
};

const rowObject = (
  definition: ResourceDefinition,
  object: Readonly<KubeObject>,
  {includeObject: include, shown, apiVersion}: TableSettings,
): unknown => {
  switch (include) {
    case 'None':
      return null;
    case 'Object':
      return shown(object);
    case 'Metadata':
      return partialMetadata(apiVersion, object, definition);
  }
};

/** Only the metadata of an object. */
export const partialMetadata = (apiVersion: string, object: Readonly<KubeObject>, definition?: ResourceDefinition): KubeObject => ({
  kind: 'PartialObjectMetadata',
  apiVersion,
  metadata: definition?.presentation?.derivedAnnotations
    ? withoutAnnotations(object.metadata!, definition.presentation.derivedAnnotations)
    : object.metadata!,
});

const withoutAnnotations = ({annotations, ...meta}: Readonly<ObjectMeta>, names: readonly string[]): ObjectMeta => {
  const left = Object.entries(annotations ?? {}).filter(([name]) => !names.includes(name));
  return {...meta, ...(left.length > 0 ? {annotations: Object.fromEntries(left)} : {})};
};
