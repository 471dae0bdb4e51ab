import {customKind, type Condition, type KubeObject} from '@platio/plat/operator';

/**
 * A text, and how often its config map repeats it.
 *
 * @subresource status
 * @column Repeat integer .spec.repeat
 * @column Ready string .status.conditions[?(@.type=="Ready")].status
 */
export interface Sample extends KubeObject {
  spec: SampleSpec;
  status?: SampleStatus;
}

export const Sample = customKind<Sample, 'Sample'>({group: 'example.com', version: 'v1', kind: 'Sample', plural: 'samples'});

/**
 * @rule self.text.size() * self.repeat <= 10000
 * @message all repetitions together must have at most 10000 characters
 */
export interface SampleSpec {
  /**
   * @minLength 1
   * @maxLength 1000
   */
  text: string;
  /**
   * @integer
   * @minimum 1
   * @maximum 100
   * @default 1
   */
  repeat?: number;
}

export interface SampleStatus {
  /**
   * @listType map
   * @mapKey type
   */
  conditions?: Condition[];
}
