import type {Naming} from '#src/api/naming.js';
import type {ObjectMeta} from '#src/api/types.js';

const shortModes = {ReadWriteOnce: 'RWO', ReadOnlyMany: 'ROX', ReadWriteMany: 'RWX', ReadWriteOncePod: 'RWOP'};

/** Access modes as tables show them, in a fixed order. */
export const accessModesText = (modes: readonly string[] = []): string =>
  Object.entries(shortModes)
    .flatMap(([mode, short]) => (modes.includes(mode) ? short : []))
    .join(',');

/** Where the class stood before there was a field for it. */
export const classAnnotation = (naming: Naming): string => naming.subKey('volume.beta', 'storage-class');

/** The class of a volume or a claim; the annotation counts before the field. */
export const classOf = ({metadata, spec}: {readonly metadata?: ObjectMeta; readonly spec?: {readonly storageClassName?: string}}, naming: Naming): string =>
  metadata?.annotations?.[classAnnotation(naming)] ?? spec?.storageClassName ?? '';
