import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {Pod, PodSpec} from '#src/api/pod.js';
import {notSupported} from '#src/api/field-error.js';
import {containersOf} from '#src/model/pod/containers.js';
import type {AdmissionAttributes, AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {combinedMessage, podIn} from '#src/apiserver/admission/request-kind.js';
import {refuse} from '#src/apiserver/admission/refuse.js';

const imagesOf = (spec: Readonly<PodSpec>): string[] => [
  ...containersOf(spec).map(({image = ''}) => image),
  ...(spec.volumes ?? []).flatMap(({image}) => image?.reference ?? []),
];

/**
 * Sets the pull policy of all images to Always, so that an image cached on a node is available only to pods that may
 * pull it.
 */
export const alwaysPullImages = (naming: Naming): AdmissionPlugin => {
  const podWithImages = (attributes: AdmissionAttributes) => {
    const pod = podIn(attributes);
    if (!pod || attributes.operation === 'CREATE') return pod;
    const known = new Set(imagesOf((attributes.oldObject as Pod).spec!));
    return imagesOf(pod.spec).every(image => known.has(image)) ? undefined : pod;
  };
  return {
    name: 'AlwaysPullImages',
    handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(naming, kinds.pods)},
    changes: [
      'spec.containers[].imagePullPolicy',
      'spec.initContainers[].imagePullPolicy',
      'spec.ephemeralContainers[].imagePullPolicy',
      'spec.volumes[].image.pullPolicy',
    ],
    admit(attributes) {
      const pod = podWithImages(attributes);
      if (!pod) return;
      for (const container of containersOf(pod.spec)) container.imagePullPolicy = 'Always';
      for (const {image} of pod.spec.volumes ?? []) if (image) image.pullPolicy = 'Always';
    },
    validate(attributes) {
      const pod = podWithImages(attributes);
      if (!pod) return;
      const errors = (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap(field =>
        (pod.spec[field] ?? []).flatMap(({imagePullPolicy = ''}, at) =>
          imagePullPolicy === 'Always' ? [] : notSupported(`spec.${field}[${at}].imagePullPolicy`, imagePullPolicy, ['Always']),
        ),
      );
      if (errors.length > 0) throw refuse(attributes, combinedMessage(errors.map(({path, detail}) => `${path}: ${detail}`)));
    },
  };
};
