"""How people say that something is not to be remembered: patterns for a bare clause, by language.

Written for folded text (`orders.fold`): no capitals, no accents, no vowel signs, й as и, ة as ه, straight apostrophes.
"""

from __future__ import annotations

_ENGLISH_NOT = (
    r"(?:(?:please )?(?:do not|don't|dont|do n't|never|not to|please not|no need (?:for you )?to|try not to|better not"
    r"|(?:there is|there's|you have) no need (?:for you )?to|(?:be sure|make sure|remember|take care)(?: you)? (?:not to|don't|do not)"
    r"|you (?:do not|don't|dont) (?:have|need) to|you (?:needn't|need not|should not|shouldn't|must not|mustn't|are not to|aren't to)"
    r"|i(?:'d| would)(?: really)? (?:rather|prefer)(?: it if| that)? you (?:didn't|don't|did not|do not|not)"
    r"|i(?:'d| would) (?:appreciate it|like it) if you (?:didn't|don't|did not|wouldn't)"
    r"|i (?:do not|don't|dont) want you to|i want you (?:not to|to not)|i(?:'d| would) like you (?:not to|to not)"
    r"|(?:can|could|would|will) you (?:please )?(?:not|don't)))(?: (?:ever|please|kindly|actually|even))?"
)
_ENGLISH_WHAT = (
    r"(?:(?:any|anything|all|none) (?:of|in|about) )?(?:this|that|these|those|the following|the above"
    r"|(?:what|anything|everything) (?:i|we) (?:just |am about to |'m about to |have just |will now |now )?"
    r"(?:said|say|wrote|write|told you|tell you|telling you|share|shared|mentioned|sent)(?: here| now| just now| next| above| below)?"
    r"|(?:(?:this|that|my|our|these|the|my last|the last|this last|this entire|this whole) )(?:(?:next|last|following) )?"
    r"(?:one|message|messages|conversation|convo|chat|session|part|bit|bits|exchange|secret|info|information|detail|details|thing|piece"
    r"|password|pin|passphrase|passcode|credentials?|discussion|turn|text|reply|answer|question|request|sentence|line|stuff))"
)
_ENGLISH_WHERE = (
    r"(?: (?:in|to|into|from|on) (?:your |the |long.term |any )?(?:memory|memories|notes|record|file|database|history)"
    r"| for later| on file| down| at all| about me| for me| for (?:the )?future(?: reference)?| permanently| here| either| ever| long.term"
    r"| beyond this (?:chat|session)| after this(?: chat| session)?| anywhere| when we're done)*"
)
_ENGLISH = (
    rf"(?:(?:please )?(?:don't|do not) (?:[\w']+ ){{1,5}}and )?{_ENGLISH_NOT} (?:remember|memori[sz]e|store|save"
    rf"|record|note(?: down)?|write down|retain|jot down|keep track of|take note of"
    rf"|make (?:a )?notes? (?:of|about)|commit to memory) {_ENGLISH_WHAT}{_ENGLISH_WHERE}",
    # "Don't keep this, use a list": of code as often as of what was said.
    rf"{_ENGLISH_NOT} (?:keep|log|archive|persist|capture|hold on to|hang on to) (?!(?:this|that|these"
    rf"|those)\Z){_ENGLISH_WHAT}{_ENGLISH_WHERE}",
    r"i(?:'d| would)? (?:do not|don't|dont|rather not|wouldn't) (?:want|like|have) (?:it|" + _ENGLISH_WHAT + r")(?: to be)? (?:being )?"
    r"(?:remembered|stored|saved|recorded|logged|memori[sz]ed|kept|retained|written down)" + _ENGLISH_WHERE,
    rf"{_ENGLISH_NOT} (?:remember|memori[sz]e) it{_ENGLISH_WHERE}",
    rf"{_ENGLISH_NOT} (?:put|add|save|write|commit|store|keep|file|enter|record) (?:it|{_ENGLISH_WHAT}) (?:down )?(?:in|to|into|on)"
    r" (?:your |the |long.term )?(?:memory|memories|record)",
    rf"{_ENGLISH_NOT} (?:write|note|jot) (?:it|{_ENGLISH_WHAT}) down{_ENGLISH_WHERE}",
    rf"{_ENGLISH_NOT} let (?:this|that|it) (?:get |go |end up |stay )?(?:in|into|enter) (?:your |the )?memory",
    r"(?:(?:this|that|it|what follows|the following|all this|all of this)(?:'s| is| stays| must stay| should stay| has to stay)? "
    r"|(?:strictly|completely|just|totally|purely) |(?:let's )?keep (?:this|that|it) |this one(?:'s| is) )*"
    r"(?:off the record|(?:just )?between (?:us|you and me|the two of us|ourselves))(?: only)?",
    r"(?:keep|leave) (?:it|" + _ENGLISH_WHAT + r") (?:out of|away from|off) (?:your |the )?(?:long.term )?(?:memory|memories|record)",
    r"(?:this|that|it|the following|the above|this message|this conversation|this chat|all of this) (?:is|are|should|must|shall|may"
    r"|need|needs)"
    r"(?:n't| not)(?: to)?(?: be)? (?:remembered|stored|saved|recorded|logged|memori[sz]ed|kept|retained|written down|archived)"
    + _ENGLISH_WHERE,
    r"(?:this|that|it) (?:doesn't|does not|don't|need not|needn't)(?: need| have)?(?: to)? be (?:remembered|stored|saved|recorded"
    r"|logged|memori[sz]ed)",
    r"(?:this|that|it|the following)(?:'s| is)? not for (?:your |the )?(?:memory|record|records|storage|the record)",
    r"(?:this|that)(?:'s| is) not (?:something )?(?:for you )?to (?:remember|keep|save|store)",
    r"would you mind not (?:remembering|storing|saving|recording|memori[sz]ing|keeping) (?:it|" + _ENGLISH_WHAT + ")" + _ENGLISH_WHERE,
)

_GERMAN_WHAT = (
    r"(?:(?:das|dies|dieses|es)(?: hier| da| alles| jetzt| eben| folgende| gesagte)?|folgendes|alles|(?:davon|hiervon)(?: bitte)? nichts"
    r"|nichts (?:davon|hiervon|von dem(?: hier)?)|(?:diese|meine|die) (?:(?:letzte|nachste|folgende) )?(?:nachricht|info|information"
    r"|infos|informationen"
    r"|sache|unterhaltung|zahl|nummer|daten|angabe|pin|angaben|mitteilung)|(?:dieses|das|unser|mein) (?:gesprach|detail|passwort"
    r"|geheimnis)"
    r"|(?:diesen|den|meinen) (?:chat|code|satz|teil|punkt|namen|termin)"
    r"|was ich (?:(?:dir|ihnen|euch) )?(?:gerade |eben |jetzt |hier |gleich |soeben )*(?:gesagt|geschrieben|erzahlt|sage|schreibe"
    r"|erzahle)(?: habe| hab)?)"
)
_GERMAN_NOT = (
    r"(?:nicht|nirgends|nirgendwo|niemals|nie|auf keinen fall"
    r"|bloss nicht|ja nicht|lieber nicht|besser nicht|gar nicht|nicht mehr)"
)
_GERMAN_FILL = r"(?:(?:bitte|mal|doch|jetzt|auch|einfach|ubrigens|aber|lieber|besser|mir|dauerhaft|langfristig|extra)\s)*"
_GERMAN_INFINITIVE = (
    r"(?:merken|speichern|abspeichern|notieren|aufzeichnen|behalten|aufschreiben|protokollieren|archivieren|mitschreiben|einpragen"
    r"|(?:zu )?(?:merken|speichern|behalten|notieren)|abzuspeichern|aufzuschreiben|aufzuheben|aufheben|sichern|festhalten|festzuhalten)"
)
_GERMAN_WHERE = r"(?:(?:in|im) (?:deinem |deinen |dein |ihrem |ihren |ihr |das |dem |den )?(?:gedachtnis|speicher|erinnerungen|notizen)\s)?"
_GERMAN_MIDDLE = (
    rf"(?:sie )?{_GERMAN_FILL}(?:(?:(?:es|das|dies) )?(?:dir|sich"
    rf"|euch) )?{_GERMAN_FILL}(?:{_GERMAN_WHAT} )?{_GERMAN_FILL}{_GERMAN_WHERE}{_GERMAN_FILL}"
)
_GERMAN = (
    rf"(?:merke?n?|speicher[en]?|speichre|behalte?n?|notiere?n?|protokolliere?n?|archiviere?n?) {_GERMAN_MIDDLE}"
    rf"(?:{_GERMAN_NOT}|nichts)(?: (?:ab|in (?:dein(?:em)? |ihr(?:em)? |das |dem )?(?:gedachtnis|speicher) ?(?:auf)?))?",
    rf"(?:schreibe?n?|nimm|nehmen|zeichnen?) {_GERMAN_MIDDLE}{_GERMAN_NOT} auf|schreibe?n? {_GERMAN_MIDDLE}{_GERMAN_NOT} mit",
    rf"(?:merke?n?|speicher[en]?|behalte?n?|notiere?n?) (?:sie )?{_GERMAN_FILL}(?:(?:dir|sich|euch) )?{_GERMAN_FILL}"
    r"(?:davon(?: bitte)? nichts|nichts davon|nichts von (?:dem|diesem gesprach|dieser unterhaltung))(?: ab| auf)?",
    rf"(?:{_GERMAN_WHAT} )?{_GERMAN_FILL}(?:{_GERMAN_WHERE})(?:{_GERMAN_NOT}|nichts davon) {_GERMAN_FILL}{_GERMAN_WHERE}"
    rf"{_GERMAN_INFINITIVE}",
    rf"{_GERMAN_WHAT} (?:musst|brauchst|sollst|solltest|darfst|mussen|brauchen|sollten|durfen) (?:du|sie) (?:(?:dir|sich) )?{_GERMAN_FILL}"
    rf"{_GERMAN_NOT} {_GERMAN_INFINITIVE}",
    rf"du (?:musst|brauchst|sollst|solltest|darfst) (?:dir )?{_GERMAN_WHAT} {_GERMAN_FILL}{_GERMAN_NOT} {_GERMAN_INFINITIVE}",
    rf"sie (?:mussen|brauchen|sollen|sollten|durfen) (?:sich )?{_GERMAN_WHAT} {_GERMAN_FILL}{_GERMAN_NOT} {_GERMAN_INFINITIVE}",
    rf"(?:kannst du (?=.*bitte)|(?:konntest|wurdest) du )(?:dir )?{_GERMAN_WHAT} {_GERMAN_FILL}{_GERMAN_NOT} {_GERMAN_INFINITIVE}",
    rf"(?:konnten|wurden) sie (?:sich )?{_GERMAN_WHAT} {_GERMAN_FILL}{_GERMAN_NOT} {_GERMAN_INFINITIVE}",
    r"ich (?:mochte|will) nicht dass (?:du|sie) (?:(?:dir"
    r"|sich) )?" + _GERMAN_WHAT + r" (?:merkst|merken|speicherst|speichern|behaltst|behalten|notierst)",
    rf"(?:das|dies|es|alles)(?: hier| alles)? (?:bleibt|bleibe|ist|soll|muss|sollte) {_GERMAN_FILL}(?:strikt |streng |nur )?"
    r"(?:unter uns|zwischen uns|vertraulich|inoffiziell|off the record)(?: bleiben)?",
    r"(?:nur |ganz |streng |strikt )?(?:unter uns|zwischen uns|off the record)(?: gesagt)?",
    rf"(?:das|dies|es)(?: hier)? (?:soll|sollte|darf|muss) {_GERMAN_FILL}{_GERMAN_NOT} (?:gespeichert|gemerkt|notiert|aufgezeichnet"
    rf"|behalten) werden",
    r"(?:das|dies)(?: hier)? (?:ist )?nicht (?:furs|fur das|fur dein|fur ihr) (?:gedachtnis|protokoll)",
)

_PORTUGUESE_WHAT = (
    r"(?:(?:nada )?(?:disso|disto|daquilo|isso|isto|aquilo)(?: aqui| ai| tudo)?|nada do que (?:eu )?(?:disse|falei|escrevi)"
    r"|(?:d?(?:est[ae]s?|ess[ae]s?)|[oa]s? minhas?|[oa]s? meus?|minha|meu) (?:(?:ultima|proxima) )?(?:mensagem|mensagens|conversa"
    r"|informac(?:ao|oes)|parte"
    r"|senha|palavra.passe|codigo|dado|dados|chat|assunto|segredo|numero|detalhe|dica|coisa|frase|pin)"
    r"|(?:d?o|tudo o|d?aquilo) que (?:(?:eu|te|lhe|vos) )*(?:(?:acabei de|vou) )?(?:dizer|disse|falei|falar|escrever|escrevi|contei"
    r"|contar|digo|escrevo)"
    r"|(?:d?o|a) (?:seguinte|que segue|que vem a seguir))"
)
_PORTUGUESE_VERB = (
    r"(?:lembres?|lembra|lembrem|recordes?|recorde|recorda|memorizes?|memoriza|memorizem|guardes?|guarda|guardem|salves?|salva|salvem"
    r"|graves?|grava|gravem"
    r"|registres?|registes?|registra|regista|registem|anotes?|anota|anotem|armazenes?|armazena|armazenem|retenhas?|retem|fixes?|fixa"
    r"|decores?|decora"
    r"|arquives?|arquiva|mantenhas?|tomes? nota|toma nota|conserves?|apontes?|aponta)"
)
_PORTUGUESE_INFINITIVE = (
    r"(?:(?:te|se|me|o|a) )?(?:lembrar|recordar|memorizar|guardar|salvar|gravar|registrar|registar|anotar|armazenar|reter|fixar"
    r"|decorar|arquivar|apontar)"
    r"(?:-?(?:te|se|o|a))?"
)
_PORTUGUESE_WHERE = (
    r"(?: (?:nao|n[ao] (?:sua |tua )?(?:memoria|historico)|em (?:lado nenhum|lugar nenhum|nenhum lugar|memoria)"
    r"|de (?:forma|maneira) (?:alguma|nenhuma)|nunca))*"
)
_PORTUGUESE = (
    rf"(?:nao|nunca|jamais|nem) (?:(?:me|te|se|vos|voce|tu) )*{_PORTUGUESE_VERB}(?: d?e)? {_PORTUGUESE_WHAT}{_PORTUGUESE_WHERE}",
    rf"{_PORTUGUESE_WHAT} (?:e para |e pra )?(?:nao|nunca) (?:(?:te|se|o|a|e para|e pra|deve|devia) )*(?:{_PORTUGUESE_VERB}"
    rf"|{_PORTUGUESE_INFINITIVE})"
    rf"{_PORTUGUESE_WHERE}",
    rf"nao (?:o|a|os|as) {_PORTUGUESE_VERB}{_PORTUGUESE_WHERE}",
    r"(?:voce |tu )?nao (?:(?:precisas?|vas?|necessitas?|deves?|devia|tens|tem|ha|e) ?(?:necessidade |preciso |necessario )?(?:de "
    r"|que |para |pra )?)"
    rf"{_PORTUGUESE_INFINITIVE}(?: d?e)? {_PORTUGUESE_WHAT}{_PORTUGUESE_WHERE}",
    rf"(?:eu )?(?:nao quero|prefiro|quero|gostava|gostaria|peco|preferia)(?: te| lhe)? que (?:nao )?(?:(?:voce|tu|o senhor"
    rf"|a senhora) )?(?:nao )?"
    rf"(?:(?:te|se) )?(?:{_PORTUGUESE_VERB}|lembrasses?|guardasses?|memorizasses?|gravasses?)(?: d?e)? {_PORTUGUESE_WHAT}",
    rf"(?:podes?|podias?|poderia|poderias|consegue"
    rf"|consegues)(?: voce)? (?:por favor )?nao {_PORTUGUESE_INFINITIVE}(?: d?e)? {_PORTUGUESE_WHAT}",
    rf"(?:{_PORTUGUESE_WHAT} |que isto |que isso )?(?:e |fica|fique|que fique)?\s?(?:(?:so|apenas|somente"
    rf"|aqui) )?(?:entre (?:nos(?: dois| duas)?|a gente|mim e (?:ti|voce)))",
    rf"(?:{_PORTUGUESE_WHAT} )?(?:e |fica |que fique )?em off",
    rf"{_PORTUGUESE_WHAT} nao (?:e|deve ser|pode ser|precisa de ser|precisa ser) (?:para (?:a memoria|guardar|memorizar|registar"
    rf"|registrar)|guardad[oa]|memorizad[oa]"
    r"|gravad[oa]|registad[oa]|registrad[oa]|lembrad[oa]|salv[oa])",
)
_SPANISH = (
    r"no (?:te )?(?:recuerdes|guardes|guarde|memorices|memorice|grabes|registres|anotes|almacenes|acuerdes de) (?:nada de )?"
    r"(?:esto|eso|este mensaje|esta conversacion|lo que (?:te )?(?:dije|acabo de decir))",
    r"no lo (?:recuerdes|guardes|memorices|grabes|registres|anotes|almacenes)",
    r"(?:esto|eso) queda entre nosotros",
)
_FRENCH = (
    r"(?:ne |n')(?:retiens|retenez|memorise|memorisez|garde|gardez|enregistre|enregistrez|note|notez|sauvegarde|stocke)"
    r" (?:pas|rien)(?: de)?(?: (?:ca|cela|ceci|ce message|cette conversation))?",
    r"(?:ca|cela|ceci) reste entre nous",
)
_ITALIAN = (
    r"non (?:ricordare|memorizzare|salvare|registrare|annotare|conservare) (?:nulla di )?"
    r"(?:questo|cio|quello|questo messaggio|questa conversazione)",
    r"(?:questo )?(?:resti|resta|rimanga) tra (?:di )?noi",
)

_RUSSIAN_WHAT = (
    r"(?:(?:ничего )?(?:из )?(?:это|этого|об этом|про это|следующее|сказанное|написанное|то что ниже)|это(?:т|) (?:сообщение|разговор"
    r"|чат|код|пароль|диалог|пин)"
    r"|(?:эту|мою|нашу) (?:информацию|переписку|часть|фразу|беседу|деталь|тему)|(?:эти|мои) (?:данные|слова|сообщения)|(?:мой"
    r"|наш) (?:пароль|разговор|пин)"
    r"|(?:это |то |того |все |ничего из того )?что я (?:тебе |вам )?(?:сеичас |только что )?(?:тебе |вам )?(?:сказала?|написала?"
    r"|скажу|говорю|пишу|говорила?|рассказала?))"
)
_RUSSIAN_ORDER = (
    r"(?:(?:запоминаи|сохраняи|записываи|фиксируи|помни|заноси|вноси|запиши|запомни|логируи|конспектируи)(?:те)?)"
)
_RUSSIAN_INFINITIVE = (
    r"(?:запоминать|сохранять|записывать|фиксировать|хранить|помнить|запомнить|сохранить|записать|заносить|вносить)"
)
_RUSSIAN_FILL = r"(?:(?:пожалуиста|никогда|нигде|ни в коем случае|лучше|больше|вообще|даже|мне|себе|ты|вы|тебе|вам)\s)*"
_RUSSIAN_WHERE = (
    r"(?: (?:(?:в|у|на) (?:себя|себе|свою |своеи |твою |твоеи )?(?:в )?(?:памяти|память|будущее)?"
    r"|нигде|никуда|себе|у себя|никогда|вообще|надолго))*"
)
_RUSSIAN_NEEDLESS = (
    r"(?:не (?:надо|нужно|стоит|следует|обязательно|требуется|хочу|хотела? бы|должна?|должны|вздумаи|смеи|смеите|пытаися|пытаитесь"
    r"|старaися)|незачем|ни к чему"
    r"|можешь не|можете не|можно не|прошу не|просьба не|лучше не|постараися не|нельзя)"
)
_RUSSIAN = (
    rf"(?:{_RUSSIAN_WHAT} )?{_RUSSIAN_FILL}не {_RUSSIAN_FILL}{_RUSSIAN_ORDER}{_RUSSIAN_WHERE}"
    rf"(?: {_RUSSIAN_FILL}{_RUSSIAN_WHAT})?{_RUSSIAN_WHERE}",
    rf"не {_RUSSIAN_FILL}{_RUSSIAN_ORDER} (?:его|ее|их)",
    rf"(?:{_RUSSIAN_WHAT} )?не (?:храни|держи)(?:те)? (?:{_RUSSIAN_WHAT} )?(?:в|у себя в) (?:своеи |твоеи )?памяти",
    rf"(?:{_RUSSIAN_WHAT} )?{_RUSSIAN_FILL}{_RUSSIAN_NEEDLESS} {_RUSSIAN_FILL}(?:{_RUSSIAN_WHAT} )?{_RUSSIAN_INFINITIVE}{_RUSSIAN_WHERE}"
    rf"(?: {_RUSSIAN_WHAT})?{_RUSSIAN_WHERE}",
    rf"{_RUSSIAN_WHAT} {_RUSSIAN_FILL}не {_RUSSIAN_INFINITIVE}{_RUSSIAN_WHERE}"
    rf"|{_RUSSIAN_FILL}не {_RUSSIAN_INFINITIVE} {_RUSSIAN_WHAT}{_RUSSIAN_WHERE}",
    rf"{_RUSSIAN_WHAT} {_RUSSIAN_INFINITIVE} {_RUSSIAN_NEEDLESS}|{_RUSSIAN_INFINITIVE} {_RUSSIAN_WHAT} {_RUSSIAN_NEEDLESS}",
    rf"(?:я )?не хочу чтобы (?:ты|вы|это)\s?(?:это )?(?:запоминала?|запомнила?|сохраняла?|сохранила?|помнила?|записывала?|запоминали"
    rf"|запомнили|сохраняли|сохранили)"
    rf"(?: {_RUSSIAN_WHAT})?",
    rf"(?:(?:можешь|можете|мог бы ты|могли бы вы|не мог бы ты|не могли бы вы) )(?:это )?не {_RUSSIAN_INFINITIVE}(?: {_RUSSIAN_WHAT})?",
    r"(?:пусть )?(?:это |все это )?(?:пусть )?(?:(?:должно )?(?:останется|остается|остаться) |строго |только "
    r"|чисто )*между нами(?: останется| говоря)?",
    r"(?:это )?не (?:для|под) (?:записи|запись|протокола|протокол|памяти|сохранения|запоминания)",
    r"(?:это )?(?:сохранять|запоминать|записывать) не надо",
)

_ARABIC_WHAT = (
    r"(?:(?:اي شيء |شيئا |اي شي |كل )?(?:من |عن |ب|ل)?(?:هذا|ذلك|هذه|هذي|هاد|هاي|هيدا|ده|دي|تلك|هاذا)(?: (?:ال\w{2,9}))?(?: كله)?"
    r"|ما (?:قلت|قلته|كتبت|كتبته|ساقول|ساقوله|اقوله|يلي)"
    r"(?: لك)?(?: للتو| الان)?|(?:ال)?(?:كلام|رساله|محادثه|معلومه|معلومات) (?:هذا|هذه|ده|دي|التاليه)|(?:كلمه سري|رسالتي|كلامي|سري"
    r"|محادثتنا|الكلام ده|الكلام دا|كلمه المرور|كلمه السر|الرمز|هذا الرمز"
    r"|الرقم السري|اللي قلته|الي قلته|اللي قلتلك عليه))"
)
_ARABIC_VERB = r"(?:تتذكر|تحفظ|تسجل|تخزن|تدون|تحتفظ|تذكر|توثق|تستذكر)(?:ي|وا)?"
_ARABIC_NOUN = r"(?:حفظ|تذكر|تسجيل|تخزين|تدوين|الاحتفاظ|توثيق|الحفظ|التسجيل)"
_ARABIC_WHERE = r"(?: (?:في (?:ال)?ذاكر(?:تك|ه)|بذاكرتك|عندك|لديك|في اي مكان|ابدا|نهائيا|مطلقا|لاحقا))*"
_ARABIC = (
    rf"(?:و|ف)?(?:لا|ما|الا|ان لا|بلا ما|ليس عليك ان|لا يجب ان|لا ينبغي ان|لا داعي (?:ل)?ان|ليس من الضروري ان|لا يلزم ان"
    rf"|لست بحاجه (?:ل|الي )ان|لا تحتاج ان|لا اريدك ان|لا اريد(?: منك)? ان"
    rf"|ارجو ان لا|ارجو الا|اريدك ان لا|اتمني ان لا|ممكن (?:ما|لا)|هل يمكنك (?:ان لا|الا)"
    rf"|من الافضل ان لا) {_ARABIC_VERB} {_ARABIC_WHAT}{_ARABIC_WHERE}",
    rf"(?:و|ف)?(?:لا|ما) (?:تتذكر|تحفظ|تسجل|تخزن|تدون)(?:ي|و)?(?:ه|ها|هم|هن|هوش){_ARABIC_WHERE}",
    rf"(?:ما ?|م)(?:تتذكر|تفتكر|تحفظ|تسجل|تخزن|تدون)(?:ي|و)?(?:ه|ها)?ش (?:{_ARABIC_WHAT}){_ARABIC_WHERE}",
    rf"(?:و|ف)?(?:الرجاء|يرجي|رجاء|ارجو(?: منك)?|اطلب(?: منك)?|اريد(?: منك)?|اود|هل يمكنك|يمكنك|يجب"
    rf"|من فضلك)? ?عدم {_ARABIC_NOUN} {_ARABIC_WHAT}{_ARABIC_WHERE}",
    rf"(?:و|ف)?لا تقم(?:ي)? ب{_ARABIC_NOUN} {_ARABIC_WHAT}{_ARABIC_WHERE}",
    rf"(?:لا داعي|لا حاجه|لا ضروره|ليس هناك داع|بدون|دون|ما في داعي|ما له داعي|لست بحاجه|لا تحتاج)(?: الي"
    rf"| ل)? ?ل?{_ARABIC_NOUN} {_ARABIC_WHAT}{_ARABIC_WHERE}",
    r"(?:(?:هذا|هذا الكلام|الكلام|هذا الامر) )?(?:(?:ل)?(?:يبقي|يبق|يظل|يكون|يكن) (?:هذا )?|هو |سر |سرا )*(?:هذا )?(?:سرا? )?(?:بيننا"
    r"|بيني وبينك)(?: فقط)?",
    r"(?:هذا )?(?:ليس|غير مخصص|مش) (?:للتسجيل|للحفظ|للنشر والتسجيل|للذاكره|للتذكر)",
)

_CHINESE_WHAT = (
    r"(?:(?:这|這|那|此|以上|以下|刚才|剛才|刚刚|剛剛|上面|下面|前面|上一|上述|下述|接下来|接下來|今天)(?:的)?(?:一)?(?:个|個|件|条"
    r"|條|些|段|句|次|点|點|则|則|里|裡)?"
    r"(?:事情?|话|話|对话|對話|内容|內容|消息|信息|資訊|資料|资料|訊息|讯息|东西|東西|数字|數字|密码|密碼|聊天|谈话|談話|会话|部分"
    r"|秘密|隐私|记录)?"
    r"|(?:我(?:刚才|剛才|刚刚|剛剛|接下来|接下來|现在|現在|以上|上面)?|刚才|剛才|刚刚|剛剛)(?:要)?(?:跟你|和你|对你|告诉你"
    r"|告訴你)?(?:说|說|讲|講|发|發)?的(?:这|這|那)?(?:些|个|個|句)?(?:话|話|事情?|内容|內容|东西)?"
    r"|(?:我的)?(?:密码|密碼|隐私|秘密)|它)"
)
_CHINESE_START = (
    r"(?:请|請|麻烦|麻煩|拜托|拜託|求|希望|你|您|也|就|都|千万|千萬|务必|務必|可以|能不能|能|可不可以|最好|先|我不想让|我希望|我要求"
    r"|就是|暂时){0,4}"
)
_CHINESE_NOT = (
    r"(?:(?:不要|别|別|勿|不用|不必|无需|無需|不需要|没必要|沒必要|没有必要|不许|不許|不准|莫|切勿|请勿|請勿|甭|不得|不该|不應該"
    r"|不应该|我?不想让你|我?不想讓你|我?不希望你|禁止)"
    r"(?:再|去|给我|給我|帮我|幫我|替我|在记忆里|在記憶裡|在你的记忆里|特意|特地|真的)?)"
)
_CHINESE_STRONG = (
    r"(?:记住|記住|记下来?|記下來?|记得|記得|记在心里|记到(?:你的)?(?:记忆|脑子|腦子|脑海|心)(?:里|裡|中)?|记忆|記憶|记着|記著"
    r"|记忆下来|背下来|牢记"
    r"|(?:写|寫|存|放|加|录|錄)(?:进|進|入|到|在)(?:你的)?(?:长期)?(?:记忆|記憶|内存|笔记)(?:库)?(?:里|裡|中|里面)?)"
)
_CHINESE_WEAK = (
    r"(?:(?:保存|存储|儲存|储存|记录|記錄|存档|存檔|留存|保留|收录|收集)(?:下来|下來|起来|起來)?|存(?:下来|下來|起来|起來|下)?|记|記"
    r"|写下来|寫下來|留下(?:记录|記錄)|录下来)"
)
_CHINESE_END = r"(?:了|吧|哦|喔|噢|啊|呀|哈|啦|嘛|哟|好吗|好嗎|可以吗|可以嗎|行吗|好不好|行不行|哈哈|亲){0,3}"
_CHINESE = (
    rf"{_CHINESE_START}{_CHINESE_WHAT}?{_CHINESE_START}{_CHINESE_NOT}(?:(?:把|将|將){_CHINESE_WHAT}"
    rf"|{_CHINESE_WHAT})?{_CHINESE_STRONG}(?:任何)?{_CHINESE_WHAT}?{_CHINESE_END}",
    rf"{_CHINESE_START}{_CHINESE_WHAT}{_CHINESE_START}{_CHINESE_NOT}{_CHINESE_WEAK}{_CHINESE_END}",
    rf"{_CHINESE_START}{_CHINESE_NOT}(?:把|将|將){_CHINESE_WHAT}(?:给|給)?{_CHINESE_WEAK}{_CHINESE_END}",
    rf"{_CHINESE_START}{_CHINESE_NOT}{_CHINESE_WEAK}(?:任何)?{_CHINESE_WHAT}{_CHINESE_END}",
    rf"(?:请|請)?(?:不要|别|別|请勿|切勿)(?:再)?[记記]{_CHINESE_END}",
    rf"(?:你|您)?(?:可以|能|可否)(?:请|麻烦)?{_CHINESE_NOT}(?:(?:把|将|將){_CHINESE_WHAT})?(?:{_CHINESE_STRONG}"
    rf"|{_CHINESE_WEAK}){_CHINESE_WHAT}?(?:吗|嗎)",
    rf"(?:{_CHINESE_WHAT}|这事儿?|這事)?(?:就|只|仅|僅)?(?:是|限于|限於|限|留在|属于|止于)?(?:我们|咱们|咱俩|你我|我們|我们俩"
    rf"|我們倆)(?:之间|之間|两个人?知道)(?:的?秘密|说说|說說|就好|知道就好)?",
)

_JAPANESE_WHAT = (
    r"(?:(?:これ|それ|あれ|ここ|今の|さっきの|今|以下|以上|上|次|この|その|今回の|私の|僕の|俺の|今言った|さっき言った|今話した"
    r"|さっき話した|これから言う|これから話す|今から言う|今から話す|いま言った)"
    r"(?:の)?(?:話|はなし|こと|事|件|メッセージ|会話|内容|情報|やりとり|やり取り|発言|部分|番号|数字|秘密|暗証番号|パスワード"
    r"|チャット|もの|名前|予定|住所|やつ|全部)?"
    r"(?:について|に関して)?(?:は|を|のことは|って|も|だけは|なんだけど|だけど|ですが|なんですが|のは|のことを|に関しては|については)?)"
)
_JAPANESE_FILL = (
    r"(?:絶対に?|どうか|できれば|もう|特に|別に|全部|全て|すべて|お願いだから|頼むから|決して|くれぐれも|とりあえず|一切|記憶に"
    r"|メモリに|メモリーに|記録に|メモに|どこにも|永久に|ずっと|わざわざ){0,3}"
)
_JAPANESE_STEM = (
    r"(?:覚え|憶え|おぼえ|記憶し|保存し|記録し|メモし|メモら|(?:記憶|記録|メモ|メモリ|メモリー|履歴)に残さ"
    r"|留め|とどめ|暗記し|書き留め|書き残さ|覚えておか|覚えとか|保存しておか|記録しておか|記憶しておか|メモしておか|記憶させ|記憶せ)"
)
_JAPANESE_ASK = (
    r"(?:ください|下さい|くださいませ|欲しい|ほしい|いただきたい|頂きたい|もらいたい|もらえますか|もらえる|いただけますか|頂けますか"
    r"|いただけませんか|もらえませんか|くれますか|くれませんか|くれる|くれ"
    r"|ちょうだい|頂戴|お願いします|お願い|いただけると(?:助かります|幸いです|嬉しいです)|もらえると(?:助かる|助かります|嬉しい))"
)
_JAPANESE_END = r"(?:です|だ|でしょう|ます)?(?:よ|ね|な|わ|から|さ|の|よー|ねー|ー|っ|んで|けど|が|ので|w|笑){0,3}"
_JAPANESE_FINE = (
    r"(?:いい|良い|よい|よろしい|大丈夫|結構|構わない|かまわない|構いません|かまいません"
    r"|ok|オッケー|オーケー|問題ない|問題ありません|平気)"
)
_JAPANESE = (
    rf"{_JAPANESE_WHAT}?{_JAPANESE_FILL}{_JAPANESE_WHAT}?{_JAPANESE_STEM}ない(?:で(?:おいて|いて)?(?:{_JAPANESE_ASK})?"
    rf"|ように(?:して(?:おいて)?)?(?:{_JAPANESE_ASK})?|こと|方向で){_JAPANESE_END}",
    rf"{_JAPANESE_WHAT}?{_JAPANESE_FILL}(?:{_JAPANESE_STEM}|覚えてい?|覚えて?お?か|保存してい?)なく(?:て|ても"
    rf"|たって){_JAPANESE_FINE}{_JAPANESE_END}",
    rf"{_JAPANESE_WHAT}?{_JAPANESE_FILL}{_JAPANESE_STEM}ないで{_JAPANESE_FINE}{_JAPANESE_END}",
    rf"{_JAPANESE_WHAT}?{_JAPANESE_FILL}{_JAPANESE_STEM}ずに(?:おいて|いて)?(?:{_JAPANESE_ASK})?{_JAPANESE_END}",
    rf"{_JAPANESE_WHAT}?{_JAPANESE_FILL}(?:覚えておく|覚えとく|覚える|記憶する|保存する|記録する|メモする|暗記する)(?:必要|こと)(?:は"
    rf"|も|が)?(?:ない|ありません|無い|ないです){_JAPANESE_END}",
    rf"{_JAPANESE_WHAT}?{_JAPANESE_FILL}(?:覚える|記憶する|保存する|記録する|メモる)(?:な|のはやめて|のをやめて"
    rf"|のはなし)(?:{_JAPANESE_ASK})?{_JAPANESE_END}",
    rf"{_JAPANESE_WHAT}(?:の)?(?:記録|保存|記憶|メモ)(?:は|を)?(?:しない(?:で)?(?:{_JAPANESE_ASK})?|不要|禁止|無用"
    rf"|やめて(?:{_JAPANESE_ASK})?|なしで(?:{_JAPANESE_ASK})?){_JAPANESE_END}",
    rf"{_JAPANESE_WHAT}?(?:の話)?オフレコ(?:で|だから|なので)?(?:{_JAPANESE_ASK})?(?:です|だけど|ですが|だ|で)?{_JAPANESE_END}",
    rf"{_JAPANESE_WHAT}?(?:ここだけ|二人だけ|ふたりだけ|私たちだけ|二人の間だけ)の(?:話|秘密|はなし)(?:だけど|ですが|です|で"
    rf"|にして(?:{_JAPANESE_ASK})?|なんだけど|なんですが)?{_JAPANESE_END}",
)
_KOREAN = (
    r"(?:(?:이거|이건|이것|이 ?대화|이 ?메시지)(?:은|는|을|를)? ?)?"
    r"(?:기억하지|저장하지|기록하지) ?(?:마|마세요|말아줘|말아 ?주세요|말아요)",
)

# What each of a language's orders holds, and the orders.
LANGUAGES = (
    (r"n't|dont|\bnot\b|never|\bno need|needn|\brecord|between|keep|leave", _ENGLISH),
    (r"nicht|kein|\bnie|nirgend|unter uns|zwischen|vertraulich|inoffiziell|record", _GERMAN),
    (r"\bnao\b|nunca|jamais|\bnem\b|entre|em off", _PORTUGUESE),
    (r"\bno\b|entre", _SPANISH),
    (r"\bne\b|n'|entre", _FRENCH),
    (r"\bnon\b|\bnoi\b", _ITALIAN),
    (r"\bне\b|между|нельзя|\bни\b|незачем", _RUSSIAN),
    (r"لا|ما|م|عدم|بين|دون|ليس|غير", _ARABIC),
    (r"[别別勿莫甭]|不要|不用|不必|不需|不许|不許|不准|不得|不该|不應|不应|不想|不希|[没沒無无]|禁止|之[间間]|[两兩]", _CHINESE),
    (r"ない|なく|ずに|るな|せん|やめ|なし|無い|不要|禁止|無用|オフレコ|だけの", _JAPANESE),
    (r"마|말", _KOREAN),
)
# Orders that are put as a question, or that a question mark does not turn into one.
ASKED = (
    r"(?:please )?(?:can|could|would|will) you .*|would you mind .*|(?:kannst|konntest|wurdest|konnten|wurden) (?:du|sie) .*"
    r"|(?:podes?|podias?|poderias?|consegues?) .*|(?:не )?(?:можешь|можете|могл?и? бы) .*|(?:هل|ممكن) .*"
    r"|(?:你|您)?(?:能不能|可以|能|可不可以|可否).*|.*(?:好吗|好嗎|可以吗|可以嗎|行吗|好不好|行不行)|.*(?:ますか|ませんか|くれる|もらえる)"
)
# No order is without one of these.
HINTS = (
    r"rememb|memori|memory|stor|save|saving|record|log|note|keep|writ|retain|jot|archiv|persist|hold|hang|track|commit|captur|between"
    r"|put|let|leave"
    r"|merk|speicher|speichre|behalt|notier|schreib|protokoll|sicher|halt|nimm|nehm|zeichn|heb|prag|unter uns|zwischen|vertraulich"
    r"|inoffiziell|gedachtnis"
    r"|lembr|record|memor|guard|salv|grav|regist|anot|armaz|ret|fix|decor|arquiv|mant|nota|conserv|apont|entre|em off"
    r"|recuerd|acuerd|grab|almacen|garde|enregistr|note|sauvegard|stocke|ricord|salvar|annotar|conservar|tra "
    r"|запом|сохран|запис|фикс|хран|помн|занос|внос|держ|логир|консп|клад|между|протокол|памят"
    r"|ذكر|حفظ|سجل|سجيل|خزن|خزين|دون|دوين|حتفظ|حتفاظ|كتب|وثق|وثيق|بين|للتسجيل"
    r"|[记記背存录錄留收写寫放加间間两保]|[覚憶おぼ残留書]|記|保存|メモ|オフレコ|だけの|暗記|기억|저장|기록"
)
