import type {Frozen} from '#src/api/key.js';
import type {Pod, VolumeProjection} from '#src/api/pod.js';

export type CertificateSource = NonNullable<Frozen<VolumeProjection>['podCertificate']>;

/** A certificate in a projected volume of a pod. */
export interface CertificateProjection {
  readonly pod: Frozen<Pod>;
  readonly volume: string;
  /** The index among the sources of the volume. */
  readonly index: number;
}

/** Returns the certificates of a pod with what they are to be like. */
export const projectionsOf = (pod: Frozen<Pod>): readonly (CertificateProjection & {readonly source: CertificateSource})[] =>
  (pod.spec?.volumes ?? []).flatMap(({name: volume, projected}) =>
    (projected?.sources ?? []).flatMap(({podCertificate: source}, index) => (source ? [{pod, volume, index, source}] : [])),
  );

/** Formats a projection for messages and as a key. */
export const projectionText = ({pod: {metadata: {namespace, name, uid} = {}}, volume, index}: CertificateProjection): string =>
  `{${namespace} ${name} ${uid} ${volume} ${index}}`;
