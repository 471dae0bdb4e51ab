import type {kinds, ObjectOf} from '#src/api/kinds/index.js';

type ClientDefinition = ObjectOf<typeof kinds.customResourceDefinitions>;
export type Spec = ClientDefinition['spec'];
export type Names = Spec['names'];
export type Version = Spec['versions'][number];
export type Subresources = NonNullable<Version['subresources']>;
export type PrinterColumn = NonNullable<Version['additionalPrinterColumns']>[number];
export type SelectableField = NonNullable<Version['selectableFields']>[number];
export type Conversion = NonNullable<Spec['conversion']>;
type ClientStatus = NonNullable<ClientDefinition['status']>;
/** The type of the client library is a release older than these fields. */
export type Condition = NonNullable<ClientStatus['conditions']>[number] & {observedGeneration?: number};
/** The conditions of a new definition are shown as null. */
export type Status = Omit<ClientStatus, 'conditions'> & {conditions?: Condition[] | null; observedGeneration?: number};
export type Definition = Omit<ClientDefinition, 'status'> & {status?: Status};
