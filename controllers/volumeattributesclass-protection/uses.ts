import type {Change} from '#informers/change.js';
import type {Index} from '#informers/lister.js';
import type {Frozen, ObjectKey} from '#src/api/key.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';

type Volume = ObjectOf<typeof kinds.persistentVolumes>;
type Claim = ObjectOf<typeof kinds.persistentVolumeClaims>;

/** Returns the class of a volume. */
export const classOfVolume = ({spec}: Frozen<Volume>): readonly string[] =>
  spec?.volumeAttributesClassName ? [spec.volumeAttributesClassName] : [];

/** Returns the desired, current and target classes of a claim. */
export const classesOfClaim = ({spec, status}: Frozen<Claim>): readonly string[] => [
  ...new Set(
    [
      spec?.volumeAttributesClassName,
      status?.currentVolumeAttributesClassName,
      status?.modifyVolumeStatus?.targetVolumeAttributesClassName,
    ].filter(name => name !== undefined),
  ),
];

export const volumesByClass: Index<Volume> = {name: 'attributes-class', values: classOfVolume};
export const claimsByClass: Index<Claim> = {name: 'attributes-class', values: classesOfClaim};

/** Returns the classes that a change of an object may have released. */
export const releasedClasses =
  <T extends KubeObject>(classesOf: (object: Frozen<T>) => readonly string[]) =>
  (change: Change<T>): readonly ObjectKey[] => {
    const kept = change.type === 'deleted' ? [] : classesOf(change.object);
    const before = change.type === 'deleted' ? classesOf(change.object) : change.type === 'updated' ? classesOf(change.old) : [];
    return before.filter(name => !kept.includes(name)).map(name => ({namespace: '', name}));
  };
