import {customKind, runManager, validating, type KubeObject} from '#src/operator/index.js';

interface Sample extends KubeObject {
  spec?: {size?: number};
}

/** A program with a webhook that is attacked. */
await runManager({
  name: 'samples-operator',
  controllers: [],
  webhooks: {
    handlers: [validating(customKind<Sample>({group: 'example.com', version: 'v1', kind: 'Sample', plural: 'samples'}), () => [])],
  },
});
