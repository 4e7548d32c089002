// Words the button of a fix.
import type { Fix } from '../api/doctor.ts';
import type { Message } from '../api/values.ts';
import { wordMessage } from '../view/message.ts';
import { english } from '../view/translator.ts';

export function labeled(wording: Message): Pick<Fix, 'label' | 'wording'> {
  return { label: wordMessage(wording, english), wording };
}
