import type {Change} from '#informers/change.js';
import type {Index} from '#informers/lister.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds.js';
import type {KubeObject} from '#src/api/types.js';

type Volume = ObjectOf<typeof kinds.persistentVolumes>;
type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

/** The class that a volume has. */
export const classOfVolume = ({spec}: Frozen<Volume>): readonly string[] => (spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : []);

/** The classes that a claim wants, has, and is on its way to. */
export const classesOfClaim = ({spec, status}: Frozen<Claim>): readonly string[] => [
  ...new Set([spec?.volumeAttributesClassName, status?.currentVolumeAttributesClassName, status?.modifyVolumeStatus?.targetVolumeAttributesClassName].filter(name => name !== undefined)),
];

export const volumesByClass: Index<Volume> = {name: 'attributes-class', values: classOfVolume};
export const claimsByClass: Index<Claim> = {name: 'attributes-class', values: classesOfClaim};

/** The classes that a change of what refers to them may have let go. */
export const releasedClasses =
  <T extends KubeObject>(classesOf: (object: Frozen<T>) => readonly string[]) =>
  (change: Change<T>): readonly ObjectKey[] => {
    const kept = change.type === 'deleted' ? [] : classesOf(change.object);
    const before = change.type === 'deleted' ? classesOf(change.object) : change.type === 'updated' ? classesOf(change.old) : [];
    return before.filter(name => !kept.includes(name)).map(name => ({namespace: '', name}));
  };
