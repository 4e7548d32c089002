// Gettext bound to this prefix's catalogues, in the form that the pure files take.
import Gettext from 'gettext';
import { localedir } from './place.ts';
import type { Words } from './words.ts';

Gettext.bindtextdomain('culvert', localedir);
Gettext.textdomain('culvert');

export const _ = Gettext.gettext;
export const words: Words = { _, ngettext: Gettext.ngettext };
