import type {kinds, ObjectOf} from '#src/api/kinds.js';

export type Definition = ObjectOf<typeof kinds.customResourceDefinitions>;
export type Spec = Definition['spec'];
export type Names = Spec['names'];
export type Version = Spec['versions'][number];
export type Subresources = NonNullable<Version['subresources']>;
export type PrinterColumn = NonNullable<Version['additionalPrinterColumns']>[number];
export type SelectableField = NonNullable<Version['selectableFields']>[number];
export type Conversion = NonNullable<Spec['conversion']>;
export type Status = NonNullable<Definition['status']>;
export type Condition = NonNullable<Status['conditions']>[number];
